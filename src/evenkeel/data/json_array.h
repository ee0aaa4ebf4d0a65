// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_window.h"

namespace evenkeel::data {

/// True if the text of a .json file begins with {: it has JSON lines, as those of C4 and Dolma.
/// Consumes nothing.
bool begins_with_object(TextWindow& window);

/// The documents of a .json file that is an array. One element at a time is in memory.
class JsonArrayReader {
 public:
  /// \param window  at the start of the text; outlives the reader
  /// \throws Error (data, exit code 65) if the text does not begin with [
  JsonArrayReader(TextWindow& window, const std::string& key);

  /// The string of the next element, which may be empty; nullopt at the end. Valid until the next
  /// call.
  /// \throws Error (data, exit code 65), with the number of the element
  std::optional<std::string_view> next();

  /// Those since the last call.
  JsonCounts take_counts() { return parser_.take_counts(); }

 private:
  TextWindow& window_;
  JsonText parser_;
  std::int64_t number_ = 0;  // of the last element
  std::size_t taken_ = 0;    // bytes of the last element, which the window still has
  bool is_at_end_ = false;
};

/// Calls `use` for each document of a .json file: an array of strings, or of objects with a string
/// under `key`. A file that begins with { holds JSON lines, as those of C4 and Dolma do. Empty
/// strings and null are skipped. One element at a time is in memory.
/// \param skips_invalid  for lines, as read_json_lines(); an invalid element is always refused
/// \throws Error (data, exit code 65), with the number of the element, as read_json_lines() does
JsonCounts read_json_array(TextWindow& window, const std::string& key,
                           const std::function<void(std::string_view document)>& use,
                           bool skips_invalid = false);

}  // namespace evenkeel::data
