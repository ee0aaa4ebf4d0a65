// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Sums of gathered rows: dispatch and combine of a mixture of experts.
///
///   y[n] = sum over j of x[rows[n, j]],   dx[m] = sum over j of dy[gradient_rows[m, j]]
///
/// Terms are added in order of j, in float32 (float64 if x is float64). The sum is rounded once.
///
/// \param x              [M, D]; float32, bfloat16 or float64
/// \param rows           [N] or [N, k], int64, 0 .. M - 1
/// \param gradient_rows  [M] or [M, k], int64, 0 .. N - 1: for each row of x the rows of y that
///                       contain it
/// \return y, [N, D]; differentiable once with respect to x
/// \throws c10::Error if shapes, dtypes or devices do not fit, or a row does not exist; on CUDA,
///         where no host waits for a check, such a row makes its row of y NaN
at::Tensor gather_sum(const at::Tensor& x, const at::Tensor& rows, const at::Tensor& gradient_rows);

}  // namespace evenkeel::ops
