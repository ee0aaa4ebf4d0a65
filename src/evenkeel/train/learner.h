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
  double loss = 0;                  // cross-entropy before the update, nats a token
  double balance_loss = 0;          // mixture of experts: load balancing loss, without its weight
  double router_z_loss = 0;         // mixture of experts: router z-loss, without its weight
  double gradient_norm = 0;         // L2, of all parameters, before clipping
  bool clipped = false;             // the norm was above optimizer.clip
  bool applied = false;             // the update was made; else nothing was changed
  probe::RoutingStats routing;      // mixture of experts, of the whole batch
  std::int64_t expert_choices = 0;  // tokens x top-k x blocks with experts
};

/// The fields of metrics.jsonl for a mixture of experts (docs/run_folder.md); none if a router's
/// logits are not finite.
nlohmann::ordered_json routing_record(const StepResult& result);

/// A callback between the backward pass and the update of a step.
/// \return whether to make the update
using UpdateGuard = std::function<bool(const StepResult&)>;

/// A model and its optimizer: one optimizer step a batch.
class Learner {
 public:
  /// Model and parameters must outlive the learner.
  /// \param experts  mixture of experts: weights of the auxiliary losses, rate of the router biases
  Learner(const config::Optimizer& options, const nn::Model& model, nn::Parameters& parameters,
          const config::Experts& experts = {});

  /// Applies the scheme's rules for initial weights (Hooks).
  /// \param ids  [B, T], int64: the first training batch
  void before_training(const at::Tensor& ids) { hooks_.before_training(ids); }

  /// Forward, backward and update, with gradient accumulation over micro-batches:
  ///
  ///   loss = sum over scored tokens of -ln p / scored tokens of the batch
  ///          + sum over micro-batches m of (rows_m / B) (w_balance L_balance,m + w_z L_z,m)
  ///
  /// The size of a micro-batch changes the cross-entropy by rounding only. The load balancing loss
  /// is a product of means over tokens, so it does depend on it.
  ///
  /// \param batch             B sequences
  /// \param micro_batch_size  sequences that go through the model at once
  /// \param rate              learning rate
  /// \param allow_update      called before the update, even for a step that is not finite, whose
  ///                          update is never made
  StepResult train_step(const data::Batch& batch, std::int64_t micro_batch_size, double rate,
                        const UpdateGuard& allow_update = {});

  /// The gradient of the last batch's loss before clipping: one flat buffer a parameter group.
  const std::vector<at::Tensor>& gradients() const { return gradients_; }

  /// Updates made so far: t of AdamW's bias correction. Skipped steps do not count.
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
  std::vector<at::Tensor> gradients_;  // one flat buffer a parameter group
  std::int64_t updates_ = 0;
};

}  // namespace evenkeel::train
