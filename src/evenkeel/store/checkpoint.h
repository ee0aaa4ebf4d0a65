// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/safetensors.h"

/// Checkpoints that survive a kill and a power cut (docs/checkpoints.md describes the protocol).
namespace evenkeel::store {

/// The content of a checkpoint, to be saved. NaN and infinity in the JSON parts are written as
/// null.
struct CheckpointContent {
  std::int64_t step = 0;              // optimizer steps so far
  std::vector<TensorView> model;      // model.safetensors: master weights and states
  std::vector<TensorView> optimizer;  // optimizer.safetensors: moments
  nlohmann::json state;               // state.json: counters, state of the health monitor
  nlohmann::json manifest;            // merged into MANIFEST.json; reserved keys: digest_kind,
                                      // files, format, root_digest, step
};

/// A checkpoint whose manifest and digests were checked.
struct VerifiedCheckpoint {
  std::filesystem::path folder;  // RUN/checkpoints/step-...
  std::int64_t step = 0;
  nlohmann::json manifest, state;
};

/// Writes RUN/checkpoints/step-00001000, durably: when this returns, it survives a power cut. Then
/// removes all checkpoints but the newest `keep`, and those of later steps: after a save of step S
/// the run continues at S. On failure older checkpoints are intact, and nothing half-written has a
/// final name. The caller must hold the run's Lock (lock.h).
/// \param keep  at least 1
/// \throws Error (io): full disk, or any other error of the system
void save_checkpoint(const std::filesystem::path& run, const CheckpointContent& content,
                     std::int64_t keep);

/// The result of a search for a usable checkpoint.
struct CheckpointSearch {
  std::optional<VerifiedCheckpoint> found;
  std::vector<std::string> skipped;  // one line for each newer checkpoint that is not usable
};

/// The newest checkpoint of a run whose manifest, sizes and digests hold.
/// \throws Error (io) if the folder of the checkpoints is there but cannot be listed
CheckpointSearch newest_checkpoint(const std::filesystem::path& run);

/// The checkpoint of a folder RUN/checkpoints/step-..., or the newest checkpoint of a run's folder.
/// \throws Error (io) as newest_checkpoint() does
CheckpointSearch find_checkpoint(const std::filesystem::path& folder);

/// Steps of all checkpoints that have a manifest, ascending; digests are not checked.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run);

}  // namespace evenkeel::store
