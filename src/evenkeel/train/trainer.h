// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "evenkeel/config/config.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/plan/model_parameters.h"
#include "evenkeel/plan/run_length.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/health/health_event.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::train {

class HealthMonitor;
using plan::padded_vocabulary_size;
using plan::planned_steps;
using plan::steps_of;

/// The progress of a run. state.json of a checkpoint has all fields but `steps` and `planned`.
struct Progress {
  std::int64_t step = 0;       // optimizer steps so far, skipped ones included
  std::int64_t steps = 0;      // optimizer steps of the whole run
  std::int64_t planned = 0;    // steps of the learning-rate schedule
  std::int64_t skipped = 0;    // steps without an update
  std::int64_t sequences = 0;  // windows read so far: the number of the next one
  std::int64_t tokens = 0;     // tokens in these windows
};

/// The result of one step, with probes and health events.
struct StepRecord {
  StepResult result;
  double rate = 0;                            // learning rate
  std::vector<probe::LayerProfile> profiles;  // if the step was probed; before its update
  std::vector<HealthEvent> events;            // of this step
};

/// A model in training on a text: the whole content of a checkpoint, and one step.
class Trainer {
 public:
  /// Builds and initializes the model.
  /// \param shape  of the model, with the tokenizer's vocabulary
  /// \param text   must outlive it
  /// \throws Error (usage) for values of the scheme that cannot be computed in this run
  Trainer(const config::Config& config, const norm::Shape& shape, nn::Precision precision,
          const data::Corpus& text);
  ~Trainer();

  /// One optimizer step on the next batch, with probes if they are due.
  StepRecord step();

  /// Probes the next training batch; changes neither weights nor states.
  /// \param measures  names of measures (config::measures())
  probe::ProbeResult run_probe(const std::set<std::string>& measures);

  const nn::Model& model() const { return *model_; }
  const nn::Parameters& parameters() const { return parameters_; }
  const Progress& progress() const { return progress_; }

  /// The content of a checkpoint, as views of the trainer's own tensors.
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
  std::int64_t micro_batch_size_ = 1;  // sequences that go through the model at once
  Progress progress_;
};

}  // namespace evenkeel::train
