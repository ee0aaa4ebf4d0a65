// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/nn/attention_path.h"
#include "evenkeel/nn/mode.h"

namespace evenkeel::nn {

/// Options of a model, in addition to its scheme and parameters.
struct ModelOptions {
  double rope_theta = 10000;    // base of the rotary angles
  bool tied = true;             // the head is the embedding
  std::int64_t vocabulary = 0;  // tokens with a logit; further rows of the head are padding
  bool fused = true;            // kernels.fused; false: reference implementations
  AttentionPath attention = AttentionPath::automatic;
  Recompute recompute = Recompute::none;
  /// The id of the end-of-text token, if attention is masked at document boundaries.
  std::optional<std::int64_t> document_end;
};

}  // namespace evenkeel::nn
