// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/token_inputs.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/data/input_paths.h"

namespace evenkeel::data {

namespace {

namespace fs = std::filesystem;

/// The shards of a manifest. Their sizes are compared, not their digests (evenkeel tokenize
/// --check).
/// \throws Error (data) for a shard that is missing or has another size
std::vector<std::string> files_of_manifest(const ShardManifest& manifest, const fs::path& folder) {
  std::vector<std::string> files;
  files.reserve(manifest.shards.size());
  for (const auto& shard : manifest.shards) {
    const auto path = folder / shard.tokens_file.name;
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    if (error || std::cmp_not_equal(bytes, shard.tokens_file.digest.bytes)) {
      throw Error(Exit::data,
                  text(path.string(), ": must have ", shard.tokens_file.digest.bytes, " bytes as ",
                       kShardManifest, " says, but ", error ? "is missing" : text("has ", bytes),
                       "; copy the file or write the shards again"));
    }
    files.push_back(path.string());
  }
  for (const auto& path : token_files_in(folder.string())) {
    if (std::find(files.begin(), files.end(), path) != files.end()) continue;
    throw Error(Exit::data, text(path, ": must be listed in ", kShardManifest,
                                 ", but is not; remove the file, or name a pattern in place of "
                                 "the folder"));
  }
  return files;
}

/// The folder in which a manifest of an input would be: the input itself, or the folder of a file
/// or pattern.
fs::path manifest_folder(const std::string& input) {
  std::error_code none;
  fs::path path = with_home(input);
  if (fs::exists(path / kShardManifest, none)) return path;
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

bool has_token_ending(const fs::path& path) {
  return path.extension() == ".bin" || path.extension() == ".npy";
}

bool is_search(const std::string& input) {
  std::error_code none;
  const auto path = with_home(input);
  const auto status = fs::status(path, none);
  return fs::is_directory(status) || (!fs::exists(status) && is_pattern(path));
}

std::vector<std::string> token_files_in(const std::string& input) {
  std::vector<std::string> files;
  const auto found = input_paths(input);
  for (const auto& path : found.paths) {
    if (!found.is_search || has_token_ending(path)) files.push_back(path.string());
  }
  return files;
}

std::optional<ShardManifest> manifest_of(const std::string& input) {
  std::error_code none;
  const auto folder = manifest_folder(input);
  if (!fs::exists(folder / kShardManifest, none)) return std::nullopt;
  auto manifest = read_shard_manifest(folder.string());
  if (folder == fs::path(with_home(input))) return manifest;
  const auto files = token_files_in(input);
  // The files of the current folder have no folder in their names.
  const bool is_listed =
      !files.empty() &&
      std::any_of(manifest.shards.begin(), manifest.shards.end(), [&](const Shard& shard) {
        return (folder / shard.tokens_file.name).lexically_normal() ==
               fs::path(files.front()).lexically_normal();
      });
  return is_listed ? std::optional(std::move(manifest)) : std::nullopt;
}

TokenInput token_input(const std::string& input) {
  TokenInput found;
  found.name = input;
  found.folder = manifest_folder(input);
  found.manifest = manifest_of(input);
  found.is_whole = found.manifest && found.folder == fs::path(with_home(input));
  found.files =
      found.is_whole ? files_of_manifest(*found.manifest, found.folder) : token_files_in(input);
  if (!found.files.empty()) return found;
  throw Error(Exit::data,
              text(input, ": must have token files (.bin, .npy), but has none; name a file"));
}

}  // namespace evenkeel::data
