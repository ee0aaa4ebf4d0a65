// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "evenkeel/comm/group.h"
#include "evenkeel/config/config.h"
#include "evenkeel/nn/model.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::train {

/// Applies the hooks of a scheme, rules that change weights outside of the optimizer
/// (docs/schemes.md, hooks):
///
///   unit_norm  before the first step and after every update: divides every row ("in") or column
///              ("out") of the named matrices by its L2 norm
///   qk_clip    after every update, for each head with a largest attention score S > threshold in
///              that step: multiplies its rows of W_Q and W_K by sqrt(threshold / S); with
///              grouped-query attention only the rows of W_Q, by threshold / S
///   profile    before the first step: one forward pass sets the learned skip vectors omega_i to
///              1 for the first sublayer, then omega_{i+1} = sqrt(var(omega_i x_i) + var(branch_i))
///
/// \source arXiv:2410.01131, arXiv:1910.05895 (unit_norm), arXiv:2507.20534 (qk_clip),
///         arXiv:2004.08249 (profile)
class Hooks {
 public:
  /// \param model, parameters  must outlive the Hooks
  Hooks(const nn::Model& model, nn::Parameters& parameters);
  Hooks(const Hooks&) = delete;  // the observer holds a pointer to this object
  Hooks& operator=(const Hooks&) = delete;

  /// Applies unit_norm and profile to initial weights.
  /// \param ids  [B, T], int64: the first sequences of the training text
  void before_training(const at::Tensor& ids);
  /// Applies unit_norm to weights that replaced the initial ones (train.from). The vectors of
  /// profile stay those of the loaded weights.
  void after_loading();
  /// The sequences that profile reads: the batch, or the first 4,096 tokens of it if they are
  /// fewer. So a large batch needs no more memory than a micro-batch.
  static std::int64_t profile_sequences(const config::Config& config);

  /// The observer for the forward passes of a step; it records attention scores for qk_clip.
  const nn::Observer& observer() const { return observer_; }

  /// Takes the largest attention scores over all ranks, for qk_clip. All ranks call it.
  void gather_scores(comm::Group& group);

  /// Applies unit_norm and qk_clip. The caller calls it after each update.
  void after_update();
  /// Discards the attention scores of a step whose update was skipped.
  void after_skipped_update() { max_scores_.clear(); }

 private:
  void apply_unit_norm(const norm::Hook& hook);
  void apply_qk_clip(const norm::Hook& hook);
  void initialize_skip_scales(const at::Tensor& ids);

  const nn::Model* model_;
  nn::Parameters* parameters_;
  nn::Observer observer_;                          // without callbacks if the scheme has no qk_clip
  std::map<std::int64_t, at::Tensor> max_scores_;  // by block: [H], since the last update
};

}  // namespace evenkeel::train
