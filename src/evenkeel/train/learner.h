// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/adamw.h"
#include "evenkeel/probe/routing_recorder.h"
#include "evenkeel/train/hooks.h"

namespace evenkeel::train {

/// Loss, gradient norm and routing of one optimizer step, and whether its update was made.
struct StepResult {
  double loss = 0;          // cross-entropy: nats a token, before the update
  double balance_loss = 0;  // of a mixture: the auxiliary losses, before their weights
  double router_z_loss = 0;
  double gradient_norm = 0;  // before clipping
  bool clipped = false;
  bool applied = false;             // false: not finite, or refused; nothing was changed
  probe::RoutingStats routing;      // of a mixture
  std::int64_t expert_choices = 0;  // of experts, by all tokens in all blocks
};

/// The fields of metrics.jsonl for a mixture of experts (docs/run_folder.md).
nlohmann::ordered_json routing_record(const StepResult& result);

/// Called when loss and gradient of a step are known. \return whether to make the update
using UpdateGuard = std::function<bool(const StepResult&)>;

/// A model and its optimizer: turns a batch into an update.
class Learner {
 public:
  /// Both must outlive the learner.
  /// \param experts  of a mixture: the weights of its auxiliary losses, the rate of its biases
  Learner(const config::Optimizer& options, const nn::Model& model, nn::Parameters& parameters,
          const config::Experts& experts = {});

  /// Rules of the scheme that act on fresh weights. \param ids  [B, T]: the first training batch
  void before_training(const at::Tensor& ids) { hooks_.before_training(ids); }

  /// Forward, backward and update. The loss is the mean over all scored tokens of the batch,
  /// however it is split; a split changes the result by rounding only. Not so the loss that
  /// balances a mixture, which multiplies means over tokens: it is that of the parts, averaged.
  ///
  /// \param micro_batch_size  sequences that go through the model at once
  /// \param rate  learning rate
  /// \param allow_update  called before the update; a step that is not finite is never made
  StepResult train_step(const data::Batch& batch, std::int64_t micro_batch_size, double rate,
                        const UpdateGuard& allow_update = {});

  /// Of the last batch's mean loss, before clipping: one flat buffer a group.
  const std::vector<at::Tensor>& gradients() const { return gradients_; }

  /// Updates made so far: what bias correction counts.
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  const optim::AdamW& optimizer() const { return optimizer_; }

 private:
  StepResult backward(const data::Batch& batch, std::int64_t micro_batch_size);
  void update_expert_biases(const probe::RoutingStats& stats);

  config::Optimizer options_;
  config::Experts experts_;
  const nn::Model* model_;
  nn::Parameters* parameters_;
  optim::AdamW optimizer_;
  Hooks hooks_;
  std::vector<at::Tensor> gradients_;
  std::int64_t updates_ = 0;
};

}  // namespace evenkeel::train
