// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "evenkeel/config/config.h"
#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/optim/adamw.h"
#include "evenkeel/probe/routing_recorder.h"
#include "evenkeel/train/gradient_reducer.h"
#include "evenkeel/train/hooks.h"
#include "evenkeel/train/micro_batch_graphs.h"

namespace evenkeel::train {

/// The result of one optimizer step: losses, gradient norm, routing.
struct StepResult {
  double loss = 0;                  // cross-entropy before the update, nats per token
  std::optional<double> z_loss;     // z-loss of the logits, unweighted; nullopt: not in the loss
  double balance_loss = 0;          // mixture of experts: load-balancing loss, unweighted
  double router_z_loss = 0;         // mixture of experts: router z-loss, unweighted
  double gradient_norm = 0;         // L2, of all parameters, before clipping
  bool clipped = false;             // the gradient norm was above optimizer.clip
  bool applied = false;             // false: skipped step, weights and optimizer state unchanged
  probe::RoutingStats routing;      // mixture of experts: routing of the whole batch
  std::int64_t expert_choices = 0;  // tokens x top-k x blocks with experts
};

/// The metrics.jsonl fields of a mixture of experts (docs/run_folder.md). Empty if a router logit
/// is not finite.
nlohmann::ordered_json routing_record(const StepResult& result);

/// A callback between backward pass and update.
/// \return true to apply the update, false to skip it
using UpdateGuard = std::function<bool(const StepResult&)>;

/// [train]: the computation of a step.
struct StepOptions {
  bool cuda_graphs = false;  // train.cuda_graphs: on a GPU the passes of most models become graphs
  double z_loss = 0;         // train.z_loss: coefficient of the z-loss of the logits
};

/// A model with its optimizer: one optimizer step per batch. In a run of several ranks every rank
/// has a Learner, and all call the same functions in the same order.
class Learner {
 public:
  /// \param model, parameters  must outlive the Learner
  /// \param experts  mixture of experts: weights of the auxiliary losses, update rate of the router
  ///         bias
  /// \param parallel  gradient shards of a batch, and the ranks that share them
  Learner(const config::Optimizer& options, const nn::Model& model, nn::Parameters& parameters,
          const config::Experts& experts = {}, const DataParallel& parallel = {},
          const StepOptions& step = {});

  /// Applies the hooks that act before the first step (Hooks::before_training).
  /// \param ids  [B_total, T], int64: the first training batch
  void before_training(const at::Tensor& ids) { hooks_.before_training(ids); }
  /// Applies the hooks that act on loaded initial weights (Hooks::after_loading).
  void after_loading() { hooks_.after_loading(); }

  /// One optimizer step: forward, backward and update, with gradient accumulation over
  /// micro-batches:
  ///
  ///   loss = sum over scored tokens of (-ln p + z_loss lse^2) / scored tokens of the batch
  ///          + sum over micro-batches m of (sequences_m / B_total)
  ///                                      (w_balance L_balance,m + w_z L_z,m)
  ///
  /// The gradient of each shard, B_total / shards sequences, is computed separately. The gradients
  /// of shards are added in the binary tree of kernels/reduction_order.h, their losses from the
  /// first shard to the last.
  ///
  /// The micro-batch size changes the cross-entropy and the z-loss by rounding only. The
  /// load-balancing loss depends on the micro-batch size, because it is a product of means over the
  /// tokens of one micro-batch.
  ///
  /// With several ranks each one computes its own shards, and all return the same StepResult.
  /// With bfloat16 weights and `distributed.shard` other than "none", only this rank's piece of the
  /// float32 master weights is valid after this call, and a CPU frees the memory of the rest;
  /// gather_masters() restores it.
  ///
  /// \param batch             B_total sequences, the same on all ranks; shards must divide B_total
  /// \param micro_batch_size  sequences per forward and backward pass
  /// \param rate              learning rate
  /// \param allow_update      called before the update, also if loss or gradient are not finite;
  ///         such an update is always skipped
  StepResult train_step(const data::Batch& batch, std::int64_t micro_batch_size, double rate,
                        const UpdateGuard& allow_update = {});

  /// The gradient of the last batch before clipping: one flat buffer [parameters] per parameter
  /// group. With several ranks each holds only its own piece until gather_gradients(), unless
  /// `distributed.shard` is "none".
  const std::vector<at::Tensor>& gradients() const { return gradients_; }

  /// Gives every rank the whole gradient of the last batch. All ranks call it. Does nothing on one
  /// rank.
  void gather_gradients();
  /// Gives every rank all master weights, until the next step. All ranks call it. Does nothing
  /// where each rank has them.
  void gather_masters();

  /// Updates so far, without skipped steps: t in AdamW's bias correction.
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  const optim::AdamW& optimizer() const { return optimizer_; }
  optim::AdamW& optimizer() { return optimizer_; }
  GradientReducer& reducer() { return reducer_; }
  const GradientReducer& reducer() const { return reducer_; }
  MicroBatchGraphs& graphs() { return graphs_; }

 private:
  struct ShardSums;  // what one shard adds to a StepResult
  struct LossParts;  // the losses of the micro-batches of a shard
  StepResult backward(const data::Batch& batch, std::int64_t micro_batch_size);
  ShardSums backward_shard(const data::Batch& batch, std::int64_t shard,
                           std::int64_t micro_batch_size);
  void backward_micro_batch(const MicroBatch& part, double share, const nn::Observer& observer,
                            LossParts& parts);
  StepResult result_of(const std::vector<ShardSums>& own, const data::Batch& batch);
  void update(double scale, double rate);
  void release_masters();
  void update_expert_biases(const probe::RoutingStats& stats);

  config::Optimizer options_;
  config::Experts experts_;
  double z_loss_;
  const nn::Model* model_;
  nn::Parameters* parameters_;
  GradientReducer reducer_;
  optim::AdamW optimizer_;
  Hooks hooks_;
  MicroBatchGraphs graphs_;
  std::vector<at::Tensor> gradients_;  // one flat buffer per parameter group
  std::int64_t updates_ = 0;
  bool has_whole_masters_ = true;  // false: with bfloat16, only those of the own range
};

}  // namespace evenkeel::train
