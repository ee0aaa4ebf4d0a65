// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/linear.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The feed-forward branch of one block: down(norm(silu(gate) * up)).
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6 (SwiGLU)
struct FeedForward {
  Matrix up_gate;        // [2 * inner, width], rows up, then gate
  Matrix down;           // [width, inner]
  Factor up_gate_scale;  // of both products: [1] or [2 * inner]
  std::optional<NormLayer> hidden_norm;
  /// Experts in parallel, each with a norm of its own hidden values; together `inner` wide.
  std::int64_t expert_count = 1;
  bool fused = true;  // false: the formula of ops/reference.h
  Recompute recompute = Recompute::none;

  /// \param x  [..., width]
  at::Tensor operator()(const Activation& x, Mode mode) const;
};

}  // namespace evenkeel::nn
