// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace evenkeel::study {

/// The names of the built-in studies, sorted.
std::vector<std::string> catalogue();

/// A study file: built-in, or read from a path.
struct StudyFile {
  std::string path;  // for messages: "studies/placement.toml"
  std::string toml;
};
/// Finds a study by name or path.
/// \throws Error (usage) with the nearest name if there is none; (io) if the file cannot be read
StudyFile find_study(const std::string& name_or_file);

}  // namespace evenkeel::study
