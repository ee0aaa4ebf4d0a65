// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "evenkeel/data/text_window.h"

namespace evenkeel::data {

/// Calls `use` for each document of a .json file: an array of strings, or of objects with a string
/// under `key`. A file that begins with { holds JSON lines, as those of C4 and Dolma do. Empty
/// strings are skipped. One element at a time is in memory.
/// \throws Error (data, exit code 65), with the number of the element, as read_json_lines() does
void read_json_array(TextWindow& window, const std::string& key,
                     const std::function<void(std::string_view document)>& use);

}  // namespace evenkeel::data
