// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Matrix products whose bits do not depend on the number of threads.
///
/// The libraries split the sums of some shapes between threads: which shapes depends on library and
/// processor. On the CPU these functions split the result into blocks instead. The size of a block
/// depends on the shapes alone, and the library computes each block with one thread. Few rows of x
/// times the transpose of a row-major weight have an own kernel, which reads the weight in place
/// (docs/decisions/0028), and so have float32 on AMD (float_product.h) and bfloat16 with AMX or
/// AVX-512 bfloat16 (bf16_product.h; weight_gradient.h for dy^T x). Without bfloat16 instructions,
/// products of bfloat16 are those of float32 copies (widened_product.h).
namespace evenkeel::ops {

/// x w
/// \param x  [n, depth] or [B, n, depth]
/// \param w  [depth, columns] or [B, depth, columns], of the dtype and device of x
/// \return [n, columns] or [B, n, columns]; differentiable any number of times
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor deterministic_matmul(const at::Tensor& x, const at::Tensor& w);

/// y = x w, or y += x w; without gradient. Shapes as for deterministic_matmul().
/// \param y  [n, columns] or [B, n, columns], of the dtype of x; updated in place
/// \param is_added  true: y += x w; false: y is overwritten
void deterministic_matmul_out(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w,
                              bool is_added = false);

/// x W^T as at::linear(), by deterministic_matmul().
/// \param x  [..., columns]
/// \param w  [rows, columns]
/// \return [..., rows]
at::Tensor deterministic_linear(const at::Tensor& x, const at::Tensor& w);

}  // namespace evenkeel::ops
