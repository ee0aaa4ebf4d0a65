// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::train {

/// The arguments of `train`.
struct Request {
  config::Sources sources;
  std::optional<std::filesystem::path> run;  // --run; nullopt: a new folder below runs/
  std::vector<std::string> overrides;      // --override: keys and tables that may change on resume
  std::optional<std::int64_t> checkpoint;  // --checkpoint: the step to go back to
  bool quiet = false;                      // --quiet: warnings only
  // Called with the folder as soon as this process has it.
  std::function<void(const std::filesystem::path&)> opened = {};
};

/// A key whose value differs from that of the run, permitted by --override.
struct ConfigChange {
  std::string key, before, after;
};
/// The JSON of a change for the list "changes" in provenance.json and MANIFEST.json.
/// \param step  step of the checkpoint from which the run was resumed
nlohmann::ordered_json record_of(std::int64_t step, const ConfigChange& change);

/// A run folder, locked by this process, and the configuration of the run.
struct OpenRun {
  std::filesystem::path folder;
  bool is_new = false;                // this process creates the folder
  bool is_resumed = false;            // the folder has a run
  bool is_restored = false;           // run.toml was missing, and was written anew
  std::shared_ptr<store::Lock> lock;  // acquired before the first read of the folder
  config::Config config;
  store::CheckpointSearch newest;     // the checkpoint to resume from; none for a new run
  plan::Done done;                    // at that checkpoint
  std::vector<ConfigChange> changes;  // differences from the configuration of that checkpoint
  // A new run with train.from: the checkpoint with its first weights. Rank 0 finds it for all
  // ranks, because the other run may save meanwhile.
  std::optional<store::VerifiedCheckpoint> from;
};

/// Opens the folder of --run, or creates a new folder below runs/. If the folder has a run, that
/// run is resumed: all keys that the command does not set have the values of the run, permitted
/// changes included, and --preset may only name the preset of the run. The length of the
/// learning-rate schedule does not change unless `schedule` is overridden.
///
/// | key                                                      | may change on resume  |
/// | -------------------------------------------------------- | --------------------- |
/// | evaluate, checkpoint, probe, log                         | yes                   |
/// | train.threads, train.cuda_graphs, model.recompute        | yes                   |
/// | distributed, but distributed.exchange                    | yes                   |
/// | train.steps, train.tokens                                | yes, to a longer run  |
/// | every other key                                          | with --override       |
///
/// \throws Error (usage, exit code 64) if --run is not a folder, or for another preset; (busy, 75)
///         if another process holds the lock; (no_checkpoint, 77) if the run has no valid
///         checkpoint of the wanted step, or was imported; (differs, 78), with the first key that
///         may not change, or that --override names although the run has trained all its steps, or
///         if train.steps or train.tokens is below the steps or tokens of the run
OpenRun open_run(const Request& request);

/// True if run.toml has the configuration of the run.
bool is_saved_configuration(const OpenRun& run);

}  // namespace evenkeel::train
