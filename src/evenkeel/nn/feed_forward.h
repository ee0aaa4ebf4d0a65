// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "evenkeel/nn/norm_layer.h"

namespace evenkeel::nn {

/// The feed-forward branch of one block: down(norm(silu(gate) * up)).
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6 (SwiGLU)
struct FeedForward {
  at::Tensor up_gate;  // [2 * inner, width], rows up, then gate
  at::Tensor down;     // [width, inner]
  std::optional<double> up_gate_scale;
  std::optional<NormLayer> hidden_norm;

  /// \param x  [B, T, width]
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace evenkeel::nn
