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

/// The feed-forward branch of one block; F is the FFN width:
///   y = W_down norm(silu(W_gate x) * W_up x)
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6 (SwiGLU)
struct FeedForward {
  Matrix up_gate;        // [2 F, D], rows up, then gate
  Matrix down;           // [D, F]
  Factor up_gate_scale;  // of up and gate; learned: [1] or [2 F]
  std::optional<NormLayer> hidden_norm;
  /// Number of shared experts in these matrices: hidden_norm normalizes each group of
  /// F / expert_count hidden values separately.
  std::int64_t expert_count = 1;
  bool fused = true;  // false: reference implementation (ops/common/reference.h)
  Recompute recompute = Recompute::none;

  /// \param x  [..., D]
  /// \return [..., D]
  at::Tensor operator()(const Activation& x, Mode mode) const;
};

}  // namespace evenkeel::nn
