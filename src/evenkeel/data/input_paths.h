// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evenkeel::data {

/// The files of an input.
struct InputPaths {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path root;  // the folder or the start of the pattern, which names begin after
  bool is_search = false;      // a folder or a pattern: files of other kinds are left out
  bool is_folder = false;
};

/// The path with the home folder in place of a `~` at its start.
std::string with_home(const std::string& input);

/// True for a name with a wildcard.
bool is_pattern(const std::string& input);

/// The end of the message about a relative path to nothing: "; relative paths begin in the current
/// folder (/tmp)".
std::string relative_paths_advice();

/// The files that an input names: a file, a folder with its folders, or a pattern. Sorted.
/// \throws Error (data, exit code 65) for a missing file, a pattern without match, or a folder that
///         cannot be read
InputPaths input_paths(const std::string& input);

}  // namespace evenkeel::data
