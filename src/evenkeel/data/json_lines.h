// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::data {

/// The strings under `key`, one of each line's object; blank lines and empty strings left out.
/// \param content  UTF-8
/// \param name     the file, for messages
/// \throws Error (data) with the number of the line: not JSON, not an object, nested deeper than
///         64, no such key, not a string
std::vector<std::string> json_lines(std::string_view content, const std::string& key,
                                    const std::string& name);

}  // namespace evenkeel::data
