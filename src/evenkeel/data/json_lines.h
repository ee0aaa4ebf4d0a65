// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::data {

/// The strings under `key` in a JSON Lines text, one object per line. Blank lines and empty strings
/// are skipped.
/// \param content  UTF-8
/// \param name     path of the file, for messages
/// \throws Error (data, exit code 65), with the line number, for a line that is not JSON, is not an
///         object, is nested deeper than 64, or has no string under `key`
std::vector<std::string> json_lines(std::string_view content, const std::string& key,
                                    const std::string& name);

}  // namespace evenkeel::data
