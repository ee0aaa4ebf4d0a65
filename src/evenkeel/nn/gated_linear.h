// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// swiglu(products) W^T, with the gradients of linear() after ops::swiglu(), bit for bit; but the
/// gate's output is not saved: the pass over memory that computes the gradient of the products
/// recomputes it, for the gradient of w. Differentiable once:
/// a second derivative is refused.
///
/// \param products  [..., 2 * F]: up in the first F values, gate in the last F
/// \param w         [rows, F]
/// \return [..., rows]
at::Tensor gated_linear(const at::Tensor& products, const Weight& w);

}  // namespace evenkeel::nn
