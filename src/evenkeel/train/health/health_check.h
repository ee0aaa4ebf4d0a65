// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "evenkeel/data/windows.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/probe/routing_recorder.h"
#include "evenkeel/train/health/health_event.h"

namespace evenkeel::train {

/// Detects slow failures, from a forward pass over one sequence, the weights, and the gradients of
/// the step:
///
/// | event           | condition                                                         |
/// | --------------- | ----------------------------------------------------------------- |
/// | logits          | scores of a head above 100, and above 4 times those of the start  |
/// | entropy         | attention weights of a block nearly all on one position           |
/// | collapse        | the last residual stream points one way at all positions, twice   |
/// | dead_gain       | half of a gain's values below 1/1000 of their initial value       |
/// | far_gain        | a gain further from its initial value than 10 times that value    |
/// | frozen_gain     | a gain whose gradient is 0, after the first step                  |
/// | vanishing       | gradient of block 1 below 1e-4 of that of the largest block       |
/// | exploding_depth | gradient of block 1 above 1e4 times that of the smallest block    |
/// | dead_blocks     | gradients of all blocks below 1e-4 of that of the whole model     |
/// | routing         | half of a block's experts have less than a tenth of the mean load |
/// | router_logits   | logits of a router above 50: its softmax is one-hot long before   |
/// | feed_forward    | gradients of feed-forward sublayers above 100 times attention's   |
///
/// \source docs/health.md
class HealthCheck {
 public:
  /// Model and parameters must outlive it.
  /// \param planned  optimizer steps of the run: initial values may depend on it
  HealthCheck(const nn::Model& model, const nn::Parameters& parameters, std::int64_t planned)
      : model_(&model), parameters_(&parameters), planned_(planned) {}

  /// All failures that hold at a step.
  /// \param step       from 1
  /// \param batch      of the step; the forward pass takes 512 positions of its first sequence
  /// \param gradients  of the step: one flat buffer a parameter group
  /// \param routing    of the step; empty for a dense model
  std::vector<HealthEvent> operator()(std::int64_t step, const data::Batch& batch,
                                      const std::vector<at::Tensor>& gradients,
                                      const probe::RoutingStats& routing = {});

  /// The largest attention scores at the first health check, by block: part of a checkpoint.
  const std::vector<double>& initial_scores() const { return initial_scores_; }
  void set_initial_scores(std::vector<double> scores) { initial_scores_ = std::move(scores); }

  /// Whether the residual stream had collapsed at the last health check: part of a checkpoint.
  bool was_collapsed() const { return was_collapsed_; }
  void set_was_collapsed(bool collapsed) { was_collapsed_ = collapsed; }

 private:
  void check_attention(const data::Batch& batch, std::vector<HealthEvent>& events);
  void check_collapse(double cosine, std::vector<HealthEvent>& events);
  void check_attention_scores(const std::vector<double>& scores, const std::vector<double>& entropy,
                              double uniform, std::vector<HealthEvent>& events);
  void check_gains(std::vector<HealthEvent>& events) const;
  void check_frozen(const std::vector<at::Tensor>& gradients,
                    std::vector<HealthEvent>& events) const;

  const nn::Model* model_;
  const nn::Parameters* parameters_;
  std::int64_t planned_;
  std::vector<double> initial_scores_;  // by block
  bool was_collapsed_ = false;
};

}  // namespace evenkeel::train
