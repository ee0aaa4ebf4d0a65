// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

/// A trained model, read from a run folder.
struct TrainedModel {
  config::Config config;
  Machine machine;
  norm::Shape shape;
  std::int64_t step = 0;
  std::vector<std::string> skipped;  // newer checkpoints that were not usable, with reasons
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// The newest valid checkpoint of a run. `sources` may change what does not touch the weights:
/// data, precision, threads, kernels.
/// \throws Error (usage) without a run, Error (no_checkpoint) if the folder holds none that is
/// usable
TrainedModel load_run(const std::optional<std::filesystem::path>& run,
                      const config::Sources& sources);

/// The model's options under a configuration.
nn::ModelOptions model_options(const config::Config& config, const norm::Shape& shape);

}  // namespace evenkeel::train
