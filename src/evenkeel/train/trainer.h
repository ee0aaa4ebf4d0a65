// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/training_batches.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/schedule.h"
#include "evenkeel/probe/probe.h"
#include "evenkeel/store/checkpoint.h"
#include "evenkeel/train/health/health_event.h"
#include "evenkeel/train/learner.h"

namespace evenkeel::train {

class HealthMonitor;

/// The counters of a run. state.json of a checkpoint contains all but `steps` and `planned`.
struct Progress {
  std::int64_t step = 0;       // optimizer steps so far, skipped ones included
  std::int64_t steps = 0;      // optimizer steps of the whole run
  std::int64_t planned = 0;    // steps of the learning-rate schedule, T of expressions
  std::int64_t skipped = 0;    // skipped steps: no update was applied
  std::int64_t sequences = 0;  // sequences read so far, the index of the next one
  std::int64_t tokens = 0;     // tokens in these sequences
};

/// The result of one step, with layer statistics and health events.
struct StepRecord {
  StepResult result;
  double rate = 0;                            // learning rate
  std::vector<probe::LayerProfile> profiles;  // empty unless a probe was due
  std::vector<HealthEvent> events;            // of this step
  std::string graph_failure;                  // CUDA graphs: why they ended in this step, or empty
  /// Of a mixture: tokens read so far, by name of the source.
  std::vector<std::pair<std::string, std::int64_t>> source_tokens;
};

/// Owns the model, the optimizer, the data order and the counters, and performs optimizer steps.
/// Its state is the content of a checkpoint. In a run of several ranks every rank has a
/// Trainer, and all call step() and run_probe() together, with the same results.
class Trainer {
 public:
  /// Builds and initializes the model.
  /// \param shape  shape of the model with the tokenizer's vocabulary
  /// \param text   must outlive the Trainer
  /// \param parallel  the ranks of the run; its shards are those of the configuration
  /// \throws Error (usage, exit code 64) if an expression of the scheme has no valid value at some
  ///         step of this run
  Trainer(const config::Config& config, const norm::Shape& shape, nn::Precision precision,
          const data::Corpora& text, const DataParallel& parallel = {});
  ~Trainer();

  /// One optimizer step on the next batch; also runs a probe if one is due.
  StepRecord step();

  /// Runs a probe on the next training batch. Weights and buffers do not change.
  /// \param measures  names from config::measures()
  probe::ProbeResult run_probe(const std::set<std::string>& measures);

  const data::TrainingBatches& windows() const { return windows_; }
  const nn::Model& model() const { return *model_; }
  const nn::Parameters& parameters() const { return parameters_; }
  const Progress& progress() const { return progress_; }

  /// The content of a checkpoint: views of the trainer's tensors, no copies. With several gradient
  /// shards it has the pieces that this rank owns.
  store::CheckpointContent checkpoint_content() const;

  /// Restores the complete state from a checkpoint, bit for bit.
  /// \throws Error (no_checkpoint, exit code 77) if names, shapes or dtypes of the tensors differ,
  /// or
  ///         if state.json has other values than checkpoint_content() writes
  void restore(const store::VerifiedCheckpoint& checkpoint);

  /// Loads only the weights and buffers, as the initial ones of a run (train.from): the hook
  /// unit_norm normalizes them.
  /// \throws Error (no_checkpoint, exit code 77) if names, shapes or dtypes of the tensors differ
  void load_weights(const store::VerifiedCheckpoint& checkpoint);

  const optim::Schedule& schedule() const { return schedule_; }

 private:
  bool is_probe_step(std::int64_t step) const;
  std::vector<std::pair<std::string, std::int64_t>> source_tokens() const;
  void add_pieces(std::int64_t shard, store::CheckpointContent& content) const;
  void restore_moments(const store::VerifiedCheckpoint& checkpoint);
  void restore_monitor(const store::VerifiedCheckpoint& checkpoint);

  config::Config config_;
  nn::Parameters parameters_;
  std::unique_ptr<nn::Model> model_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<HealthMonitor> monitor_;
  data::TrainingBatches windows_;
  std::vector<std::string> source_names_;
  std::shared_ptr<const data::TextEncoding> encoding_;
  bool has_text_ = true;  // the text of each token is known
  optim::Schedule schedule_;
  std::int64_t micro_batch_size_ = 1;  // sequences per forward pass
  Progress progress_;
};

}  // namespace evenkeel::train
