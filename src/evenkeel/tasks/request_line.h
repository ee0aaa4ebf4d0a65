// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace evenkeel::tasks {

/// The first document id of rows without a context. No metric here uses them.
inline constexpr std::int64_t kFirstUnconditionalId = 1'000'000;

/// A label is the gold choice; or null, or answers: a string or a list of them.
enum class LabelType { null, choice, string, list };

/// A line of a request file.
struct Request {
  std::int64_t document = 0;
  std::int64_t choice = 0;            // from 0
  std::optional<std::int64_t> label;  // the gold choice; nullopt: of another type
  LabelType label_type = LabelType::null;
  std::string_view context;
  std::string_view continuation;

  bool is_unconditional() const { return document >= kFirstUnconditionalId; }
};

/// The place of a line in a file, for messages.
struct RequestPlace {
  std::string_view path;
  std::int64_t line = 0;     // from 1
  std::uint64_t offset = 0;  // in the text, in bytes

  /// "requests.jsonl.gz:3"
  std::string name() const;
};

/// Parses the lines of a request file, each completely: syntax, numbers and UTF-8.
class RequestParser {
 public:
  RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;
  RequestParser(RequestParser&&) = delete;
  RequestParser& operator=(RequestParser&&) = delete;
  ~RequestParser();

  /// The texts are valid until the next call. Of an unconditional row only `document` is set.
  /// \param line  TextWindow::kPadding readable bytes follow it
  /// \throws Error (data, exit code 65), with the place, for a line that is not JSON in UTF-8, is
  ///         nested deeper than 64, is no request whose log-likelihood is scored, lacks a key, or
  ///         has an empty continuation
  Request parse(std::string_view line, const RequestPlace& place);

 private:
  struct Parser;
  Request parse_slowly(std::string_view line, const RequestPlace& place);

  std::unique_ptr<Parser> parser_;
  std::string context_, continuation_;  // the texts of parse_slowly()
};

}  // namespace evenkeel::tasks
