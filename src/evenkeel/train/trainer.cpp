// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/trainer.h"

#include <ATen/core/grad_mode.h>

#include <cstring>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/initialize.h"
#include "evenkeel/train/load.h"
#include "evenkeel/train/machine.h"
#include "evenkeel/train/tensor_file.h"

namespace evenkeel::train {

std::int64_t embedding_rows(const config::Model& model, std::int64_t vocabulary) {
  const auto pad = model.pad_vocabulary_to;
  return (vocabulary + pad - 1) / pad * pad;
}

std::int64_t steps_of(const config::Config& config) {
  if (config.train.steps > 0) return config.train.steps;
  const auto tokens_a_step = config.train.batch * config.model.context;
  return (config.train.tokens + tokens_a_step - 1) / tokens_a_step;
}

Trainer::Trainer(const config::Config& config, const norm::Shape& shape, nn::Precision precision,
                 const data::Corpus& text, std::int64_t steps)
    : config_(config),
      parameters_(nn::declare(config::bind(config.scheme, shape),
                              embedding_rows(config.model, shape.vocabulary), config.model.tied),
                  precision),
      windows_(text, config.model.context, static_cast<std::uint64_t>(config.seed)) {
  const auto scheme = config::bind(config.scheme, shape);
  nn::initialize(parameters_, scheme, config.model.init, static_cast<std::uint64_t>(config.seed),
                 steps);
  model_ = std::make_unique<nn::Model>(scheme, model_options(config, shape), parameters_,
                                       norm::Steps{.done = 0, .planned = steps});
  learner_ = std::make_unique<Learner>(config.optimizer, *model_, parameters_);
  rows_ = config.train.micro_batch > 0 ? config.train.micro_batch
                                       : auto_micro_batch(config, shape.vocabulary);
  progress_.steps = steps;
  plan(steps);
}

void Trainer::plan(std::int64_t planned) {
  progress_.planned = planned;
  schedule_ = std::make_unique<optim::Schedule>(config_.schedule, planned,
                                                config_.train.batch * config_.model.context);
}

StepRecord Trainer::step() {
  const auto batch = config_.train.batch;
  model_->at_step({.done = progress_.step, .planned = progress_.planned});
  StepRecord record;
  record.rate = schedule_->rate(progress_.step + 1);
  record.outcome =
      learner_->learn(windows_.batch(progress_.step * batch, batch), rows_, record.rate);
  ++progress_.step;
  progress_.skipped += record.outcome.applied ? 0 : 1;
  record.tokens = progress_.step * batch * config_.model.context;
  return record;
}

store::CheckpointContent Trainer::content() const {
  store::CheckpointContent content;
  content.step = progress_.step;
  for (const auto& parameter : parameters_.all()) {
    content.model.push_back(view_of(parameter.name, parameter.master));
    const auto& first = learner_->optimizer().first()[parameter.group];
    const auto& second = learner_->optimizer().second()[parameter.group];
    content.optimizer.push_back(view_of("first." + parameter.name, parameter.part_of(first)));
    content.optimizer.push_back(view_of("second." + parameter.name, parameter.part_of(second)));
  }
  content.state = {{"step", progress_.step},
                   {"updates", learner_->updates()},
                   {"skipped", progress_.skipped},
                   {"planned_steps", progress_.planned},
                   {"tokens", progress_.step * config_.train.batch * config_.model.context},
                   {"seed", config_.seed}};
  return content;
}

void Trainer::restore(const store::CheckpointFound& checkpoint) {
  start_from(checkpoint);
  const auto file = store::Safetensors::read(checkpoint.folder / "optimizer.safetensors");
  for (const auto& parameter : parameters_.all()) {
    const auto& first = learner_->optimizer().first()[parameter.group];
    const auto& second = learner_->optimizer().second()[parameter.group];
    copy_from(file, "first." + parameter.name, parameter.part_of(first));
    copy_from(file, "second." + parameter.name, parameter.part_of(second));
  }
  const auto& state = checkpoint.state;
  progress_.step = state.at("step").get<std::int64_t>();
  progress_.skipped = state.at("skipped").get<std::int64_t>();
  learner_->set_updates(state.at("updates").get<std::int64_t>());
  plan(state.at("planned_steps").get<std::int64_t>());
}

void Trainer::start_from(const store::CheckpointFound& checkpoint) {
  const auto file = store::Safetensors::read(checkpoint.folder / "model.safetensors");
  for (const auto& parameter : parameters_.all()) {
    copy_from(file, parameter.name, parameter.master);
  }
  parameters_.publish();
}

}  // namespace evenkeel::train
