// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// Grouped GEMM (torch._grouped_mm with offsets), one weight per group of rows, as for experts:
///
///   y[m] = W_e x[m]  for offsets[e] <= m < offsets[e + 1]
///
/// One parallel loop covers the row blocks of all groups, so that small groups occupy all threads.
/// The bits do not depend on the number of threads.
///
/// \param x        [M, I], sorted by group; float32, bfloat16 or float64
/// \param weight   [E, O, I], of the dtype of x; a group without rows gets a gradient of zeros
/// \param offsets  [E + 1], int64: offsets[0] = 0, offsets[E] = M, non-decreasing
/// \param gradient_buffer  [E, O, I], float32 if x is bfloat16: accumulates the gradient of weight,
///                 which autograd then does not return; empty: autograd returns it
/// \return y, [M, O]; differentiable once with respect to x and weight
/// \throws c10::Error if shapes, dtypes or, on the CPU, values of offsets do not fit
at::Tensor grouped_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offsets,
                          const GradientBuffer& gradient_buffer = {});

/// sum[e] += dy^T x, or sum[e] = dy^T x, over the rows of each group e.
/// \param sum  [E, O, I], of the dtype of dy, or float32 if dy is bfloat16; updated in place
/// \param dy   [M, O]
/// \param x    [M, I]
/// \param is_first  true: sum is overwritten; false: added to
void add_grouped_weight_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                                 const at::Tensor& offsets, bool is_first = false);

}  // namespace evenkeel::ops
