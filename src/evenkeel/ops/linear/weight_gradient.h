// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// sum += dy^T x, or sum = dy^T x: adds the gradient of the weight of y = x w^T to a gradient
/// buffer (Megatron's gradient accumulation fusion).
///
/// On a processor with AMX that of bfloat16 is computed in AMX tiles with sums of float32, in
/// a parallel region by the calling thread; elsewhere the product is rounded to bfloat16 first.
///
/// \param sum  [rows, columns], of the dtype of dy, or float32 beside bfloat16; changed
/// \param dy   [n, rows]
/// \param x    [n, columns]
/// \param is_first  sum is overwritten and not read
/// \throws c10::Error if shapes, dtypes or devices do not fit
void add_weight_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first = false);

/// Whether add_weight_gradient() uses AMX: float32 in rows beside bfloat16, on a CPU with
/// AMX.
bool uses_amx_weight_gradient(const at::Tensor& sum, const at::Tensor& dy);

}  // namespace evenkeel::ops
