// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "evenkeel/nn/model.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/parameters.h"
#include "evenkeel/norm/scheme.h"

namespace evenkeel::train {

/// Rules of a scheme that act on its weights, outside the forward pass (docs/schemes.md, hooks):
///
///   unit_norm  at the start and after every update, every row ("in") or column ("out") of the
///              named matrices gets length 1
///   qk_clip    after an update, heads whose largest score S of that step exceeds the threshold:
///              rows of q and k times sqrt(threshold / S); with shared key heads only rows of q,
///              times threshold / S
///   profile    before the first step one forward pass fills the learned skip vectors: the first
///              with 1, each next one with sqrt(var(omega x) + var(out)) of the sublayer before it
///
/// \source arXiv:2410.01131, arXiv:1910.05895 (unit_norm), arXiv:2507.20534 (qk_clip),
///         arXiv:2004.08249 (profile)
class Hooks {
 public:
  /// Both must outlive it.
  Hooks(const nn::Model& model, nn::Parameters& parameters);
  Hooks(const Hooks&) = delete;  // the observer holds a pointer to this object
  Hooks& operator=(const Hooks&) = delete;

  /// Once, on fresh weights. \param ids  [B, T]: the first sequences of the training text
  void before_training(const at::Tensor& ids);

  /// To be handed to the forward passes of a step.
  const nn::Observer& observer() const { return observer_; }

  /// After an optimizer step whose update was made.
  void after_update();
  /// After a skipped one: discards its attention scores.
  void after_skipped_update() { max_scores_.clear(); }

 private:
  void apply_unit_norm(const norm::Hook& hook);
  void apply_qk_clip(const norm::Hook& hook);
  void initialize_skip_scales(const at::Tensor& ids);

  const nn::Model* model_;
  nn::Parameters* parameters_;
  nn::Observer observer_;                          // of qk_clip; else empty
  std::map<std::int64_t, at::Tensor> max_scores_;  // score by block and head, since the last update
};

}  // namespace evenkeel::train
