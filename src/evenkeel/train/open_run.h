// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/store/lock.h"

namespace evenkeel::train {

/// The command line of `train`.
struct Request {
  config::Sources sources;
  std::optional<std::filesystem::path> run;  // --run; none: a new folder under runs/
  std::vector<std::string> overrides;        // --override: keys and tables that may differ
  bool quiet = false;                        // --quiet: warnings only
};

/// A key that differs from the configuration that the run was started with, allowed by --override.
struct ConfigChange {
  std::string key, before, after;
};
/// A change as an entry of "changes" in provenance.json and MANIFEST.json.
/// \param step  of the checkpoint that the run was resumed from
nlohmann::ordered_json record_of(std::int64_t step, const ConfigChange& change);

/// A run folder that this process owns, and the configuration to train with.
struct OpenRun {
  std::filesystem::path folder;
  bool is_new = false;                // the folder was not there before
  std::unique_ptr<store::Lock> lock;  // taken before anything in the folder was read
  config::Config config;
  store::CheckpointSearch newest;     // the checkpoint to resume from; none in a new run
  std::vector<ConfigChange> changes;  // against the configuration of that checkpoint
};

/// Opens a new folder under runs/, or the folder that --run names. If the folder holds a run, that
/// run is resumed: it keeps its configuration for every key that the command does not set, allowed
/// changes included, and the learning-rate schedule keeps its length unless `schedule` is
/// overridden.
///
/// | key                                                      | may change on resume  |
/// | -------------------------------------------------------- | --------------------- |
/// | evaluate, checkpoint, probe, log                         | yes                   |
/// | train.threads, model.recompute                           | yes                   |
/// | train.steps, train.tokens                                | yes, to a longer run  |
/// | every other key                                          | with --override       |
///
/// \throws Error (usage) if --run names something else than a folder; Error (busy) if another
///         process owns it; Error (differs) that names the first key that may not change
OpenRun open_run(const Request& request);

}  // namespace evenkeel::train
