// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

#include "evenkeel/store/directory.h"

/// MANIFEST.json: a folder is a checkpoint only with a valid manifest. Internal to store/.
namespace evenkeel::store {

inline constexpr const char* kManifestName = "MANIFEST.json";
inline constexpr const char* kModelName = "model.safetensors";
inline constexpr const char* kOptimizerName = "optimizer.safetensors";
inline constexpr const char* kStateName = "state.json";
inline constexpr const char* kIsFiniteName = "is_finite";  // of loss and gradient; default true
inline constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;  // of manifest and state

/// The text of a manifest: `extra`, step, files and root_digest. The root digest covers the whole
/// text: it is computed with 32 zeros in its own place.
/// \param files  {"model.safetensors": {"size": 123, "digest": "...", ...}, ...}
std::string manifest_text(const nlohmann::json& extra, std::int64_t step,
                          const nlohmann::json& files);

/// The result of check_checkpoint().
struct CheckReport {
  std::string defect;  // why the checkpoint is invalid: "model.safetensors is missing"; "": valid
  nlohmann::json manifest, state;
};

/// Which facts are compared with the manifest: file sizes only, or file sizes and digests.
enum class CheckLevel { sizes, digests };

/// Compares the folder of a checkpoint with its manifest. A symbolic link, and a file that cannot
/// be read, are defects.
/// \param checkpoints  the folder that contains it
/// \param step         the step in the name of its folder
/// \return the defect, the manifest, and with CheckLevel::digests also the state
/// \throws Error (busy, exit code 75) if the process has no free file descriptor or memory
CheckReport check_checkpoint(const Directory& checkpoints, std::int64_t step, CheckLevel level);

}  // namespace evenkeel::store
