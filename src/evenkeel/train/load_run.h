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
#include "evenkeel/data/text_encoding.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/ops/common/short_waits.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

/// A trained model, loaded from a run folder.
struct TrainedModel {
  /// That of run.toml, with the changes of `sources`. Without data.tokenizer among these, the keys
  /// of the tokens (data.tokenizer, end_of_text, begin, special_in_text) are of the checkpoint.
  config::Config config;
  Machine machine;
  std::unique_ptr<ops::BusyMachineWatch> watch;        // while the model is in use
  std::shared_ptr<const data::TextEncoding> encoding;  // of the run folder, or that of `sources`
  norm::Shape shape;
  std::int64_t step = 0;              // optimizer steps of the checkpoint
  std::vector<std::string> skipped;   // newer checkpoints that are damaged, with reasons
  std::vector<std::string> warnings;  // for people: another tokenizer than that of the training
  nlohmann::json data_record;         // "data" of the checkpoint's MANIFEST.json; null: none
  std::unique_ptr<nn::Parameters> parameters;
  std::unique_ptr<nn::Model> model;
};

/// Loads a checkpoint of a run: the newest valid one, or that of `step`.
/// \param run      run folder; nullopt is a usage error
/// \param sources  changes of keys that do not affect the weights: `data`, `kernels`, tasks and
///                 texts of `evaluate`, train.precision, train.threads, train.micro_batch
/// \param step     nullopt: the newest valid checkpoint
/// \param use      training: backward passes follow
/// \throws Error (usage, exit code 64) without a run; (no_checkpoint, 77) if the folder has no
///         usable checkpoint; (differs, 78) for a change of any other key, or if model or scheme in
///         run.toml, or the tokenizer in the run folder, differ from those of the checkpoint, or if
///         a named tokenizer needs an embedding of another size; data::OtherTokenizer (differs) for
///         the tokenizer in the run folder
TrainedModel load_run(const std::optional<std::filesystem::path>& run,
                      const config::Sources& sources, std::optional<std::int64_t> step = {},
                      nn::ParameterUse use = nn::ParameterUse::inference);

/// Model::quantize(), and frees the float weights of the matrices, which nothing reads afterwards.
void quantize(const TrainedModel& loaded, nn::Int8Use use);

/// False for a model that was trained on token files whose tokenizer is unknown: its tokens have no
/// text.
bool has_tokenizer(const TrainedModel& loaded);

/// The options of nn::Model for a configuration.
/// \param end_of_text  token between documents, for data.mask_documents
nn::ModelOptions model_options(const config::Config& config, const norm::Shape& shape,
                               std::optional<data::TokenId> end_of_text);

}  // namespace evenkeel::train
