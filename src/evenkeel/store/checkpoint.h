// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/store/directory.h"
#include "evenkeel/store/lock.h"
#include "evenkeel/store/safetensors.h"
#include "evenkeel/store/safetensors_stream.h"

/// Crash-safe checkpoints: they survive SIGKILL and power loss (docs/checkpoints.md has the
/// protocol).
namespace evenkeel::store {

/// Bytes that a save requires besides 1.1 times the size of the checkpoint: for the manifest,
/// folders, and hours of records.
inline constexpr double kCheckpointReserve = 16 << 20;

/// A file of tensors in a checkpoint.
struct TensorFile {
  std::string name;  // as store/checkpoint_pieces.h has it
  std::vector<TensorView> tensors;
  std::map<std::string, std::string> metadata;  // ranges of tensors
};

/// Writes the bytes of a tensor to a sink, in parts.
using TensorContent = std::function<void(const TensorView& tensor, const ByteSink& sink)>;

/// The content of a new checkpoint. NaN and infinity in the JSON parts are written as null.
struct CheckpointContent {
  std::int64_t step = 0;              // optimizer steps so far
  std::vector<TensorView> model;      // model.safetensors: master weights and buffers
  std::vector<TensorView> optimizer;  // optimizer.safetensors: AdamW moments
  std::vector<TensorFile> pieces;     // in place of both: the pieces of several gradient shards
  nlohmann::json state;               // state.json: counters, state of the health monitor
  TensorContent content = {};  // of all tensors, instead of their `data`; empty: `data` is there
  nlohmann::json manifest;  // merged into MANIFEST.json; reserved keys: digest_kind, files, format,
                            // root_digest, step
};

/// A checkpoint with a verified manifest and verified digests.
struct VerifiedCheckpoint {
  Directory folder;  // RUN/checkpoints/step-...
  std::int64_t step = 0;
  nlohmann::json manifest, state;
};

/// Writes RUN/checkpoints/step-00001000 durably: after the return, the checkpoint survives power
/// loss. Then removes all but the newest `keep` checkpoints and the newest one whose manifest does
/// not say "is_finite": false, and all checkpoints of later steps, which a resume from an older
/// step has made obsolete. On failure the older checkpoints are intact, and no incomplete folder
/// has a final name.
/// \param lock  of the run folder; a moved folder gets its checkpoint at its new path
/// \param keep  at least 1; the configuration requires checkpoint.keep >= 2
/// \return "", or why an obsolete checkpoint could not be removed; the new one is safe
/// \throws FullDisk (io, exit code 74) on a full disk; Error (io) on another I/O error, or if
///         RUN/lock was removed or replaced
std::string save_checkpoint(const Lock& lock, const CheckpointContent& content, std::int64_t keep);

/// Removes all but the newest checkpoint, if that is intact: its digests match. For a finished run,
/// which needs no fallback.
/// \throws Error (io, exit code 74) on an I/O error, or if RUN/lock was removed or replaced
void keep_newest_checkpoint(const Lock& lock);

/// The result of a search for a valid checkpoint.
struct CheckpointSearch {
  std::optional<VerifiedCheckpoint> found;
  std::vector<std::string> skipped;  // newer checkpoints that are invalid, with reasons
};

/// The newest valid checkpoint of a run: manifest, file sizes and digests match.
/// \throws Error (io, exit code 74) if RUN/checkpoints exists but cannot be read, or is a symbolic
///         link
CheckpointSearch newest_checkpoint(const std::filesystem::path& run);
CheckpointSearch newest_checkpoint(const Directory& run);

/// The checkpoint in `folder`, if it is RUN/checkpoints/step-..., else the newest valid checkpoint
/// of the run `folder`.
/// \throws Error (io) as newest_checkpoint() does
CheckpointSearch find_checkpoint(const std::filesystem::path& folder);

/// The checkpoint of a step.
/// \throws Error (no_checkpoint, exit code 77) if the run has none of `step`
CheckpointSearch checkpoint_of_step(const std::filesystem::path& run, std::int64_t step);

/// The name of a checkpoint's folder: "step-00001000".
std::string step_name(std::int64_t step);

/// The steps of all checkpoints that have a manifest, in ascending order. Digests are not verified.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& run);

}  // namespace evenkeel::store
