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

/// What a checkpoint holds, to be saved. Numbers in the JSON parts must be finite: JSON has no
/// others, and null is written for them. Reserved keys of MANIFEST.json: digest_kind, files,
/// format, root_digest, step.
struct CheckpointContent {
  std::int64_t step = 0;
  std::vector<TensorView> model, optimizer;  // model.safetensors, optimizer.safetensors
  nlohmann::json state;                      // state.json: cursor, counters, guard state
  nlohmann::json manifest;                   // merged into MANIFEST.json: provenance
};

/// A checkpoint whose manifest and digests were checked.
struct VerifiedCheckpoint {
  std::filesystem::path folder;
  std::int64_t step = 0;
  nlohmann::json manifest, state;
};

/// Writes RUN/checkpoints/step-00001000 and returns once it would survive a power cut, and all but
/// the newest `keep` (never fewer than 1) are removed, as are later steps: after a save of step S
/// the run continues at S. On failure the older ones are intact and nothing half-written remains
/// under a final name. The caller must hold the run's Lock (run_folder.h).
/// \throws Error (io): full disk, or any other error of the system
void save_checkpoint(const std::filesystem::path& run, const CheckpointContent& content,
                     std::int64_t keep);

struct CheckpointSearch {
  std::optional<VerifiedCheckpoint> found;
  std::vector<std::string>
      skipped;  // one line for each newer one that was not usable, with the reason
};
/// The newest checkpoint of a run whose manifest, sizes and digests hold.
/// \throws Error (io) if the folder of the checkpoints is there but cannot be listed
CheckpointSearch newest_checkpoint(const std::filesystem::path& run);

/// The checkpoint that RUN/checkpoints/step-... is, or the newest of the run that the folder is.
CheckpointSearch find_checkpoint(const std::filesystem::path& folder);

/// Steps of all checkpoints that have a manifest, ascending; digests are not checked.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run);

}  // namespace evenkeel::store
