// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Multiplies each row by its weight, rounded once: routing weights of a mixture of experts.
///
///   y[m] = weights[m] x[m]
///
/// The gradient of a weight is the dot product of a row of x and of dy, in float64 (on CUDA float32
/// unless x is float64), rounded once.
///
/// \param x        [M, D]; float32, bfloat16 or float64
/// \param weights  [M]; float64 if x is float64, else float32
/// \return y, [M, D], of the dtype of x; differentiable once with respect to x and weights
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor scale_rows(const at::Tensor& x, const at::Tensor& weights);

}  // namespace evenkeel::ops
