// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/linear/swiglu.h"
#include "evenkeel/ops/linear/swiglu_linear.h"

namespace evenkeel::nn {

/// ops::swiglu_linear() of a weight and its gradient buffer: swiglu(products) W^T.
/// \param products  [..., 2 * F]: up in the first F values, gate in the last
/// \param w         [rows, F]
/// \return [..., rows]
inline at::Tensor gated_linear(const at::Tensor& products, const Weight& w) {
  if (w.int8) return ops::int8_linear(ops::swiglu(products), *w.int8);
  return ops::swiglu_linear(products, w.value, w.gradient_buffer);
}

}  // namespace evenkeel::nn
