// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/nn/attention_path.h"
#include "evenkeel/nn/mode.h"

namespace evenkeel::nn {

/// What a model needs to know besides its scheme and parameters.
struct ModelOptions {
  double rope_theta = 10000;    // base of the rotary angles
  bool tied = true;             // the head is the embedding
  std::int64_t vocabulary = 0;  // tokens with a logit; the matrix may have more rows (padding)
  bool fused = true;            // kernels.fused; false: the formulas of ops/common/reference.h
  AttentionPath attention = AttentionPath::automatic;
  Recompute recompute = Recompute::none;
  /// The id of the end-of-text token, if attention stays within documents.
  std::optional<std::int64_t> document_end;
};

}  // namespace evenkeel::nn
