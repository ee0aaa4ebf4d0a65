// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/data/shard_manifest.h"

namespace evenkeel::data {

/// True for the names of token files: .bin, .npy.
bool has_token_ending(const std::filesystem::path& path);

/// True if input_paths() searches: for a folder, and for a pattern unless a file has exactly this
/// name.
bool is_search(const std::string& input);

/// The token files that an input names: the file itself, or those of a folder or a pattern.
/// \throws Error (data, exit code 65) as input_paths()
std::vector<std::string> token_files_in(const std::string& input);

/// The manifest of an input: of a folder of shards, or of the folder of a shard that is named;
/// nullopt for other files.
/// \throws Error (data, exit code 65) for a damaged manifest
std::optional<ShardManifest> manifest_of(const std::string& input);

/// The token files of an input, with the manifest that lists them.
struct TokenInput {
  std::string name;
  std::filesystem::path folder;  // of the manifest
  std::optional<ShardManifest> manifest;
  bool is_whole = false;  // a folder of shards: all of the manifest
  std::vector<std::string> files;
};

/// \throws Error (data, exit code 65) if there is no file, and for a shard that is missing, not
///         listed, or of another size than the manifest says
TokenInput token_input(const std::string& input);

}  // namespace evenkeel::data
