// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"

namespace evenkeel::train {

/// What the user asked `train` for.
struct Request {
  config::Sources sources;
  std::optional<std::filesystem::path> run;  // --run
  std::vector<std::string> overrides;        // --override KEY: may differ on resume
  bool quiet = false, json = false;
};

/// A key that differs from what the run was started with, with leave.
struct Changed {
  std::string key, before, after;
};

/// A run folder and the configuration that it will go on with.
struct OpenRun {
  std::filesystem::path folder;
  config::Config config;
  bool continues = false;        // the folder held a run already
  std::vector<Changed> changed;  // against the run.toml found there
};

/// A new folder under runs/, the folder that --run names, or the run that lies in it. A run that
/// goes on keeps its own configuration for every key that the command does not state.
/// \throws Error (differs) that names the first key that may not change
OpenRun open_run(const Request& request);

/// True if `key` was named by --override: itself, or a table above it.
bool overridden(const std::vector<std::string>& overrides, const std::string& key);

}  // namespace evenkeel::train
