// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/linear/linear.h"

namespace evenkeel::nn {

using ops::Activation;

/// ops::linear() of a weight and its gradient buffer: x W^T. By ops::int8_linear() if the weight is
/// quantized.
/// \param x  [..., columns]
/// \return [..., rows]
inline at::Tensor linear(const Activation& x, const Weight& w) {
  if (!w.int8) return ops::linear(x, w.value, w.gradient_buffer);
  if (x.residual_out != nullptr) *x.residual_out = x.value;
  return ops::int8_linear(x.value, *w.int8);
}

}  // namespace evenkeel::nn
