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

/// The text of a manifest: `extra`, the step, the files and `root_digest`, which is the digest of
/// this very text with 32 zeros in its place, so it covers everything.
/// \param files  {"model.safetensors": {"size": 123, "digest": "...", ...}, ...}
std::string manifest_text(const nlohmann::json& extra, std::int64_t step,
                          const nlohmann::json& files);

/// The result of checking the folder of a checkpoint.
struct CheckReport {
  std::string defect;  // "" or why the folder is no checkpoint: "model.safetensors is missing"
  nlohmann::json manifest, state;
};

enum class CheckLevel { sizes, digests };

/// Compares a folder with its manifest. Follows no links.
CheckReport check_checkpoint(const std::filesystem::path& folder, std::int64_t step,
                             CheckLevel level);

}  // namespace evenkeel::store
