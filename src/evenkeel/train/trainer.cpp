// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/trainer.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/batch_tensors.h"
#include "evenkeel/nn/initialize.h"
#include "evenkeel/norm/check_values.h"
#include "evenkeel/plan/batch_size.h"
#include "evenkeel/plan/model_parameters.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/probe/update_probe.h"
#include "evenkeel/train/health/health_monitor.h"
#include "evenkeel/train/load_run.h"
#include "evenkeel/train/machine.h"

namespace evenkeel::train {

Trainer::Trainer(const config::Config& config, const norm::Shape& shape, nn::Precision precision,
                 const data::Corpora& text, const DataParallel& parallel)
    : config_(config),
      parameters_(plan::parameter_specs_of(config.model, config::bind(config.scheme, shape)),
                  precision),
      windows_(text.train, config.model.context, static_cast<std::uint64_t>(config.seed),
               config.data.order),
      schedule_(config.schedule, plan::planned_steps(config),
                config.train.batch * config.model.context) {
  const auto scheme = config::bind(config.scheme, shape);
  norm::check_values(scheme,
                     {.done = plan::steps_of(config), .planned = plan::planned_steps(config)});
  nn::initialize(parameters_, scheme, config.model.init, static_cast<std::uint64_t>(config.seed),
                 plan::planned_steps(config));
  model_ = std::make_unique<nn::Model>(
      scheme, model_options(config, shape, text.train.front().corpus.end_of_text), parameters_,
      norm::Steps{.done = 0, .planned = plan::planned_steps(config)});
  learner_ = std::make_unique<Learner>(
      config.optimizer, *model_, parameters_, config.experts, parallel,
      StepOptions{.cuda_graphs = config.train.cuda_graphs, .z_loss = config.train.z_loss});
  const auto first = windows_.batch(0, Hooks::profile_sequences(config));
  learner_->before_training(nn::batch_tensors(first.inputs, first.targets, first.rows).first);
  monitor_ = std::make_unique<HealthMonitor>(config.health, *model_, parameters_,
                                             plan::planned_steps(config), config.optimizer.clip);
  micro_batch_size_ = plan::micro_batch_size(config, shape.vocabulary);
  progress_.steps = plan::steps_of(config);
  encoding_ = text.encoding;
  for (const auto& source : text.train) {
    source_names_.push_back(source.name);
    has_text_ = has_text_ && encoding_ && source.corpus.token_lengths;
  }
  progress_.planned = plan::planned_steps(config);
}

Trainer::~Trainer() = default;

bool Trainer::is_probe_step(std::int64_t step) const {
  const auto& [steps, every, measures] = config_.probe;
  return std::find(steps.begin(), steps.end(), step) != steps.end() ||
         (every > 0 && step % every == 0);
}

probe::ProbeResult Trainer::run_probe(const std::set<std::string>& measures) {
  const auto windows = windows_.batch(progress_.sequences, config_.train.batch);
  return probe::run_probe(*model_, parameters_, {config_.experts, config_.train.z_loss}, windows,
                          measures, micro_batch_size_, progress_.planned);
}

StepRecord Trainer::step() {
  const auto batch = config_.train.batch;
  const auto number = progress_.step + 1;
  const auto windows = windows_.batch(progress_.sequences, batch);
  const auto measures =
      is_probe_step(number) ? probe::measures_named(config_.probe.what) : std::set<std::string>();
  StepRecord record;
  const auto single_pass = probe::without_updates(measures);
  if (!measures.empty()) learner_->gather_masters();
  if (!single_pass.empty()) record.profiles = run_probe(single_pass).profiles;
  const probe::UpdateProbe update(*model_, parameters_, windows, measures, micro_batch_size_);

  record.rate = schedule_.rate(number);
  record.result =
      learner_->train_step(windows, micro_batch_size_, record.rate, [&](const StepResult& result) {
        return monitor_->check_step({.step = number,
                                     .batch = &windows,
                                     .first_sequence = progress_.sequences,
                                     .encoding = has_text_ ? encoding_.get() : nullptr,
                                     .gradients = &learner_->gradients(),
                                     .gather_gradients = [&] { learner_->gather_gradients(); }},
                                    result);
      });
  record.events = monitor_->take();
  record.graph_failure = learner_->graphs().take_failure();
  if (update.is_needed()) {
    learner_->gather_masters();
    for (auto& profile : update.profiles()) record.profiles.push_back(std::move(profile));
  }
  ++progress_.step;
  progress_.skipped += record.result.applied ? 0 : 1;
  progress_.sequences += batch;
  progress_.tokens += batch * config_.model.context;
  if (source_names_.size() > 1) record.source_tokens = source_tokens();
  model_->at_step({.done = progress_.step, .planned = progress_.planned});
  return record;
}

std::vector<std::pair<std::string, std::int64_t>> Trainer::source_tokens() const {
  const auto counts = windows_.counts(progress_.sequences);
  std::vector<std::pair<std::string, std::int64_t>> tokens;
  tokens.reserve(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    tokens.emplace_back(source_names_[i], counts[i] * config_.model.context);
  }
  return tokens;
}

}  // namespace evenkeel::train
