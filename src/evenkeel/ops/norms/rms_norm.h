// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// RMSNorm: divides each row of x by its root mean square, then applies a gain per feature.
///
///   y = gain * x / sqrt(mean(x^2) + epsilon)
///
/// Row statistics neither overflow nor underflow for any finite row (1e30 in float32, 1e200 in
/// float64), forward and backward. A zero row gives zeros and a finite gradient, also with
/// epsilon 0. Accumulation is float64 (docs/decisions/0011: bfloat16 with AMX partly float32);
/// element-wise products are float32 (float64 if x is float64). Forward error: at most 2 ulp;
/// bfloat16: little more than 0.5 ulp. The backward pass uses float32 if at least a quarter of the
/// gradient remains after the projections (docs/decisions/0013), else float64. Its error is a few
/// ulp of the largest value of the row.
///
/// \param x        [..., D], float32, bfloat16 or float64, on CPU or CUDA
/// \param gain     [D], float64 if x is float64, else float32; nullopt: ones
/// \param epsilon  in units of x^2, >= 0
/// \return y, of the shape and dtype of x; differentiable once with respect to x and gain
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4
at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                    double epsilon = 1e-5);

}  // namespace evenkeel::ops
