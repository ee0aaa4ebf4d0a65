// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

/// The golden files of the tests.
namespace evenkeel::testing {

inline std::filesystem::path golden_folder() {
  return std::filesystem::path(EK_TESTS) / "golden";
}

inline std::filesystem::path golden_file(const std::string& name) {
  return golden_folder() / (name + ".safetensors");
}

/// All golden files of a folder, sorted; none if there is no such folder.
inline std::vector<std::filesystem::path> golden_files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(folder, absent)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace evenkeel::testing
