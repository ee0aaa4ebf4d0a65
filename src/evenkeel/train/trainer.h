// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "evenkeel/config/config.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/health/health_monitor.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::train {

/// The progress of a run; what changes is in state.json.
struct Progress {
  std::int64_t step = 0;       // optimizer steps taken or skipped
  std::int64_t steps = 0;      // to take
  std::int64_t planned = 0;    // what the schedule was laid out for
  std::int64_t skipped = 0;    // of step: not finite
  std::int64_t sequences = 0;  // windows read, the next one's number
  std::int64_t tokens = 0;     // in them
};

/// The result of one step, with probes and health events.
struct StepRecord {
  StepResult result;
  double rate = 0;
  std::vector<probe::LayerProfile> profiles;  // if the step was probed: before its update
  std::vector<HealthEvent> events;
};

/// A model in training on a text: everything that a checkpoint holds, and one step.
class Trainer {
 public:
  /// \param shape  with the tokenizer's vocabulary filled in
  Trainer(const config::Config& config, const norm::Shape& shape, nn::Precision precision,
          const data::Corpus& text);

  StepRecord step();

  /// Probes the next training batch; changes nothing.
  probe::ProbeResult run_probe(const std::set<std::string>& measures);

  const nn::Model& model() const { return *model_; }
  const nn::Parameters& parameters() const { return parameters_; }
  const Progress& progress() const { return progress_; }

  /// What to save; views of the trainer's own tensors.
  store::CheckpointContent checkpoint_content() const;

  /// Loads a checkpoint of this model, bit for bit.
  /// \throws Error (no_checkpoint) if it holds other tensors
  void restore(const store::VerifiedCheckpoint& checkpoint);

  /// Loads only the weights.
  /// \throws Error (no_checkpoint) if it holds other tensors
  void load_weights(const store::VerifiedCheckpoint& checkpoint);

  const optim::Schedule& schedule() const { return schedule_; }

 private:
  bool is_probe_step(std::int64_t step) const;

  config::Config config_;
  nn::Parameters parameters_;
  std::unique_ptr<nn::Model> model_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<HealthMonitor> monitor_;
  data::TrainingWindows windows_;
  optim::Schedule schedule_;
  std::int64_t micro_batch_size_ = 1;  // sequences at once
  Progress progress_;
};

/// Rows of the embedding: the vocabulary, padded.
std::int64_t padded_vocabulary_size(const config::Model& model, std::int64_t vocabulary);

/// Steps that the run takes: train.steps, or train.tokens in whole batches.
std::int64_t steps_of(const config::Config& config);

/// Steps that the learning rate and expressions in T are laid out for: schedule.steps, or all.
std::int64_t planned_steps(const config::Config& config);

}  // namespace evenkeel::train
