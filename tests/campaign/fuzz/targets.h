// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace evenkeel::campaign {

/// The form of an input, which mutate() preserves, so that most inputs pass the first checks.
enum class Grammar { text, toml, json, gzip, safetensors, manifest, binary };

/// A parser of the program. `run` throws Error for an input that the program refuses; any other
/// exception but a file system error and missing memory would be exit code 70.
struct FuzzTarget {
  std::string_view name;
  Grammar grammar;
  /// \param folder  an empty folder for the files of the target; the same one for all inputs
  void (*run)(const std::string& input, const std::filesystem::path& folder);
};

/// All targets, sorted by name.
const std::vector<FuzzTarget>& fuzz_targets();

/// The folder of the files that complete a checkpoint: tests/campaign/corpus/checkpoint.
inline std::filesystem::path checkpoint_files;

}  // namespace evenkeel::campaign
