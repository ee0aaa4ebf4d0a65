// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace evenkeel::data {

/// open_input() of base/file.h for a file that the configuration names.
/// \throws Error (data, exit code 65) if `path` is missing, unreadable or not a regular file
int open_data_file(const std::string& path);

}  // namespace evenkeel::data
