// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::study {

/// The studies that the program brings along, sorted by name.
std::vector<std::string> catalogue();

/// A study file: of the catalogue by its name, or any by its path.
struct StudyFile {
  std::string path;  // for messages: "studies/placement.toml"
  std::string toml;
};
/// \throws Error (usage) with the nearest name; Error (io)
StudyFile find_study(const std::string& name_or_file);

}  // namespace evenkeel::study
