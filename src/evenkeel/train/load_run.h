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
  config::Config config;  // of run.toml, with the changes of `sources`
  Machine machine;
  norm::Shape shape;
  std::int64_t step = 0;             // of the checkpoint
  std::vector<std::string> skipped;  // newer checkpoints that were not usable, with reasons
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// Loads the newest valid checkpoint of a run.
/// \param sources  changes of keys that the weights do not depend on: `data`, `kernels`,
///                 train.precision, train.threads, train.micro_batch
/// \throws Error (usage) without a run; Error (no_checkpoint) if the folder holds no usable
///         checkpoint; Error (differs) for any other change, and if model or scheme in run.toml are
///         not those of the checkpoint
TrainedModel load_run(const std::optional<std::filesystem::path>& run,
                      const config::Sources& sources);

/// The options of nn::Model under a configuration.
nn::ModelOptions model_options(const config::Config& config, const norm::Shape& shape);

}  // namespace evenkeel::train
