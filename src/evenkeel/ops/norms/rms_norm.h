// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// Divides every row of `x` by its root mean square, then applies a gain per feature.
///
///   y = gain * x / sqrt(mean(x^2) + epsilon)
///
/// Row statistics are exact over the whole range of the dtype: rows of 1e30 in float32, or 1e200
/// in float64, neither overflow nor vanish, forward or backward. A row of zeros gives zeros and a
/// finite gradient, also with epsilon 0. Sums are in double, values are multiplied in float32 (all
/// in double beside float64): a result is off by two units of its last place at most, in bfloat16
/// by little more than half of one. Backward passes are in float32 unless nearly all of the
/// gradient cancels: off by a few units in the last place of the row's largest value.
///
/// \param x        [..., D], float32, bfloat16 or float64, on CPU or CUDA
/// \param gain     [D], float64 beside float64 rows and else float32; none means ones
/// \param epsilon  in units of x^2, >= 0
/// \return y, of the shape and dtype of x; differentiable once with respect to x and gain
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4
at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                    double epsilon = 1e-5);

}  // namespace evenkeel::ops
