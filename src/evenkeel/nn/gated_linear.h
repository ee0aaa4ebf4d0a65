// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// swiglu(products) W^T, with the gradients of linear() behind ops::swiglu(), bit for bit; but what
/// the gate writes is not kept: the pass over memory that makes the gradient of the products makes
/// it again, for the gradient of w. Differentiable once:
/// a second derivative is refused.
///
/// \param products  [..., 2 * F]: up in the first F values, gate in the others
/// \param w         [rows, F]
/// \return [..., rows]
at::Tensor gated_linear(const at::Tensor& products, const Weight& w);

}  // namespace evenkeel::nn
