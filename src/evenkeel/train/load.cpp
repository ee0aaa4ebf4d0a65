// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/load.h"

#include "evenkeel/base/error.h"
#include "evenkeel/data/corpus.h"
#include "evenkeel/nn/declare.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/tensor_file.h"
#include "evenkeel/train/trainer.h"

namespace evenkeel::train {

Loaded load_run(const std::optional<std::filesystem::path>& run, const config::Sources& sources) {
  if (!run) {
    throw Error(Exit::usage,
                "--run is wanted: the folder of a trained model; `evenkeel runs` "
                "lists them");
  }
  const auto file = *run / "run.toml";
  if (!std::filesystem::exists(file)) {
    throw Error(
        Exit::no_checkpoint,
        text(run->string(), ": not a run folder (no run.toml); `evenkeel runs` lists them"));
  }
  auto all = sources;
  all.files.insert(all.files.begin(), file);
  Loaded loaded;
  loaded.config = config::resolve(all);
  loaded.machine = use_machine(loaded.config.train);
  loaded.shape = config::shape_of(loaded.config, data::kByteVocabulary);
  const auto newest = store::newest_checkpoint(*run);
  loaded.skipped = newest.skipped;
  if (!newest.found) {
    throw Error(Exit::no_checkpoint, text(run->string(), ": has no usable checkpoint"));
  }
  const auto scheme = config::bind(loaded.config.scheme, loaded.shape);
  const auto& model = loaded.config.model;
  loaded.parameters = std::make_unique<nn::Parameters>(
      nn::declare(scheme, embedding_rows(model, loaded.shape.vocabulary), model.tied),
      loaded.machine.precision);
  const auto tensors = store::Safetensors::read(newest.found->folder / "model.safetensors");
  for (const auto& parameter : loaded.parameters->all()) {
    copy_from(tensors, parameter.name, parameter.master);
  }
  loaded.parameters->publish();
  loaded.step = newest.found->step;
  const norm::Steps steps = {
      .done = loaded.step, .planned = newest.found->state.at("planned_steps").get<std::int64_t>()};
  loaded.model = std::make_unique<nn::Model>(scheme, model_options(loaded.config, loaded.shape),
                                             *loaded.parameters, steps);
  return loaded;
}

nn::ModelOptions model_options(const config::Config& config, const norm::Shape& shape) {
  const auto& word = config.kernels.attention;
  return {.rope_theta = config.model.rope_theta,
          .tied = config.model.tied,
          .vocabulary = shape.vocabulary,
          .fused = config.kernels.fused,
          .attention = word == "explicit" ? nn::AttentionPath::explicit_scores
                       : word == "flash"  ? nn::AttentionPath::flash
                                          : nn::AttentionPath::automatic};
}

}  // namespace evenkeel::train
