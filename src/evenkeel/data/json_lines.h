// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "evenkeel/data/json_text.h"
#include "evenkeel/data/text_window.h"

namespace evenkeel::data {

/// The string of a line, as JsonText::find() or, with `skips_invalid`, find_or_skip() gives it;
/// empty for a blank line.
std::string_view document_in_line(JsonText& parser, std::string_view line, const JsonPlace& place,
                                  bool skips_invalid = false);

/// Calls `use` for the string under `key` in each line of a JSON Lines text, one object per line.
/// Blank lines, empty strings and null are skipped.
/// \param skips_invalid  leaves out, and counts, lines that cannot be used; not a last line without
///                       a line feed, where the file may be cut off
/// \throws Error (data, exit code 65), with the line number, for a line that is not JSON in UTF-8,
///         is not an object, is nested deeper than 64, or has no string and no null under `key`
JsonCounts read_json_lines(TextWindow& window, const std::string& key,
                           const std::function<void(std::string_view document)>& use,
                           bool skips_invalid = false);

}  // namespace evenkeel::data
