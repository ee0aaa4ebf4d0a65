// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

/// MANIFEST.json, which makes a folder a checkpoint. For this floor only.
namespace evenkeel::store {

inline constexpr const char* kManifestName = "MANIFEST.json";
inline constexpr const char* kModelName = "model.safetensors";
inline constexpr const char* kOptimizerName = "optimizer.safetensors";
inline constexpr const char* kStateName = "state.json";
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;  // manifest, state

/// The text of a manifest: `extra`, the step, the files, and `root_digest`. The root digest is the
/// digest of this text with 32 zeros in its place, so it covers the whole text.
/// \param files  {"model.safetensors": {"size": 123, "digest": "...", ...}, ...}
std::string manifest_text(const nlohmann::json& extra, std::int64_t step,
                          const nlohmann::json& files);

/// The result of checking the folder of a checkpoint.
struct CheckReport {
  std::string defect;  // why the folder is no checkpoint: "model.safetensors is missing"; or ""
  nlohmann::json manifest, state;
};

/// What is compared with the manifest: sizes of files only, or their digests, too.
enum class CheckLevel { sizes, digests };

/// Compares the folder of a checkpoint with its manifest. Symbolic links are defects.
/// \param step  of the folder's name
/// \return also for files that cannot be read: that is a defect; `state` with CheckLevel::digests
/// only
CheckReport check_checkpoint(const std::filesystem::path& folder, std::int64_t step,
                             CheckLevel level);

}  // namespace evenkeel::store
