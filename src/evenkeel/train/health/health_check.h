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

/// Detects slow failures. Inputs: a forward pass over one sequence, the weights, and the gradients
/// of the step.
///
/// | event           | condition                                                                |
/// | --------------- | ------------------------------------------------------------------------ |
/// | logits          | largest attention score of a block > 100 and > 4 x its first value       |
/// | entropy         | mean attention entropy of a block < 2 % of that of uniform attention     |
/// | collapse        | mean cosine of the last residual stream > 0.99 at two checks in a row    |
/// | dead_gain       | at least half of a gain's values < 1/1000 of the initial value           |
/// | far_gain        | a gain differs from its initial value by > 10 times that value           |
/// | frozen_gain     | the gradient of a gain is exactly 0, after step 1                        |
/// | vanishing       | gradient norm of block 1 < 1e-4 of that of the largest block, but not 0  |
/// | exploding_depth | gradient norm of block 1 > 1e4 times that of one of the last blocks      |
/// | dead_blocks     | gradient norms of all blocks < 1e-4 of that of the whole model; or that  |
/// |                 | of a block < 1e-4 of that of the largest block, and neither of the above |
/// | routing         | half of a block's experts have less than a tenth of the mean load        |
/// | router_logits   | a router logit > 50: the softmax is one-hot far below                    |
/// | feed_forward    | gradient norm of the feed-forward sublayers > 100 times attention's      |
///
/// \source docs/health.md
class HealthCheck {
 public:
  /// \param model, parameters  must outlive the HealthCheck
  /// \param planned  steps of the learning-rate schedule (T): initial values may depend on it
  HealthCheck(const nn::Model& model, const nn::Parameters& parameters, std::int64_t planned)
      : model_(&model), parameters_(&parameters), planned_(planned) {}

  /// All failures of a step.
  /// \param step       from 1
  /// \param batch      batch of the step; the forward pass uses 512 positions of its first sequence
  /// \param gradients  one flat buffer per parameter group
  /// \param routing    routing of the step; empty for a dense model
  std::vector<HealthEvent> operator()(std::int64_t step, const data::Batch& batch,
                                      const std::vector<at::Tensor>& gradients,
                                      const probe::RoutingStats& routing = {});

  /// The largest attention score of each block at the first health check; saved in checkpoints.
  const std::vector<double>& initial_scores() const { return initial_scores_; }
  void set_initial_scores(std::vector<double> scores) { initial_scores_ = std::move(scores); }

  /// True if the residual stream had collapsed at the last health check; saved in checkpoints.
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
