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

/// What the user asked `train` for.
struct Request {
  config::Sources sources;
  std::optional<std::filesystem::path> run;  // --run
  std::vector<std::string> overrides;        // --override: keys and tables that may differ
  bool quiet = false;
};

/// A key that differs from the configuration that the run was started with, allowed by --override.
struct ConfigChange {
  std::string key, before, after;
};
/// A change as provenance.json and MANIFEST.json keep it.
/// \param step  of the checkpoint that the run went on from
nlohmann::ordered_json record_of(std::int64_t step, const ConfigChange& change);

/// A run folder that this process owns, and the configuration to train with.
struct OpenRun {
  std::filesystem::path folder;
  bool is_new = false;                // the folder was not there before
  std::unique_ptr<store::Lock> lock;  // before anything in the folder was read
  config::Config config;
  store::CheckpointSearch newest;     // the checkpoint to go on from; none in a new run
  std::vector<ConfigChange> changes;  // against the configuration of that checkpoint
};

/// A new folder under runs/, the folder that --run names, or the run that lies in it. A run that
/// is resumed keeps its own configuration for every key that the command does not set, allowed
/// changes included, and the learning rate keeps its planned length unless `schedule` is
/// overridden.
/// \throws Error (usage) if --run names something else than a folder; Error (busy) if another
///         process owns it; Error (differs) that names the first key that may not change
OpenRun open_run(const Request& request);

}  // namespace evenkeel::train
