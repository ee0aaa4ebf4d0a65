// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// sum += dy^T x, or sum = dy^T x: adds the gradient of the weight of y = x w^T to a gradient
/// buffer (Megatron's gradient accumulation fusion).
///
/// bfloat16 on a CPU with AMX or AVX-512 BF16: kernels of our own with float32 sums; inside a
/// parallel region the calling thread computes all of them. On other CPUs products are those of
/// float32 copies. Only if `sum` is not row-major, the kernels' product is rounded before the sum.
///
/// \param sum  [rows, columns], of the dtype of dy, or float32 if dy is bfloat16; updated in place
/// \param dy   [n, rows]
/// \param x    [n, columns]
/// \param is_first  true: sum is overwritten; false: added to
/// \throws c10::Error if shapes, dtypes or devices do not fit
void add_weight_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first = false);

/// True if add_weight_gradient() uses kernels of our own: sum is float32 and row-major, dy is
/// bfloat16, and the CPU has AMX or AVX-512 BF16.
bool uses_own_weight_gradient(const at::Tensor& sum, const at::Tensor& dy);

}  // namespace evenkeel::ops
