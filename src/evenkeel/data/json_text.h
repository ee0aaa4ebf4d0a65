// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenkeel::data {

/// A JSON value in a file, for messages.
struct JsonPlace {
  std::string_view path;
  std::int64_t number = 0;   // of the line, or of the element of an array; from 1
  bool is_element = false;   // an element of an array, not a line
  std::uint64_t offset = 0;  // of the value in the text, in bytes

  /// "a.jsonl:3", "a.json, element 3"
  std::string name() const;
};

/// A line of JSON that was left out.
struct InvalidLine {
  std::string file;
  std::int64_t line = 0;  // from 1
  bool operator==(const InvalidLine&) const = default;
};

/// What JsonText has met in the values, apart from texts. `empties` also counts rows of parquet.
struct JsonCounts {
  static constexpr std::size_t kMostListed = 20;

  std::int64_t nulls = 0;            // values in the place of a text; they are left out
  std::int64_t empties = 0;          // texts without a character; they are left out
  std::int64_t lone_surrogates = 0;  // escapes as "\ud83d" that are no pair; each is read as U+FFFD
  std::int64_t invalid_lines = 0;    // TextFile::skips_invalid_lines: they are left out
  std::string first_invalid;         // why the first of them cannot be used
  std::vector<InvalidLine> first_invalid_lines;  // the first kMostListed of them

  /// Adds the counts of later values.
  JsonCounts& operator+=(const JsonCounts& other);
  /// "2 null texts left out, 1 empty text left out, 1 lone surrogate read as U+FFFD, 1 invalid line
  /// left out (REASON)"; "" for none.
  std::string description() const;
};

/// The offset of the first escape of a lone surrogate in a JSON text, as "\ud83d" without a second
/// half; nullopt if there is none.
std::optional<std::size_t> lone_surrogate_in(std::string_view value);

/// Finds the text of documents in JSON values. Every value is parsed completely: syntax, numbers,
/// UTF-8 and surrogate pairs.
class JsonText {
 public:
  /// \param key  of the text in an object; the last one counts if there are several
  explicit JsonText(std::string key);
  JsonText(const JsonText&) = delete;
  JsonText& operator=(const JsonText&) = delete;
  JsonText(JsonText&&) = delete;
  JsonText& operator=(JsonText&&) = delete;
  ~JsonText();

  /// The string under the key of an object; if the place is an element, a string is itself the
  /// text. Empty for null. Valid until the next call.
  /// \param value  a JSON text; TextWindow::kPadding readable bytes follow it
  /// \throws Error (data, exit code 65), with the place, for a value that is not JSON in UTF-8, is
  ///         nested deeper than 64, is no object, or has no string and no null under the key
  std::string_view find(std::string_view value, const JsonPlace& place);

  /// As find(), but counts a value that find() refuses, and gives an empty text for it.
  std::string_view find_or_skip(std::string_view value, const JsonPlace& place);

  /// Those since the last call.
  JsonCounts take_counts() { return std::exchange(counts_, {}); }

 private:
  struct Parser;
  std::string_view find_slowly(std::string_view value, const JsonPlace& place);

  std::string key_;
  std::unique_ptr<Parser> parser_;
  std::string found_;  // the result of find_slowly()
  JsonCounts counts_;
};

}  // namespace evenkeel::data
