// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/linear/linear.h"

namespace evenkeel::nn {

using ops::Activation;

/// ops::linear() of a weight and its gradient buffer: x W^T.
/// \param x  [..., columns]
/// \return [..., rows]
inline at::Tensor linear(const Activation& x, const Weight& w) {
  return ops::linear(x, w.value, w.gradient_buffer);
}

}  // namespace evenkeel::nn
