// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Matmul for callers that parallelize themselves: inside their parallel regions the calling thread
/// computes it. bfloat16 uses bf16_product_out() with AMX or AVX-512 bfloat16 and float32 copies
/// elsewhere; float32 on AMD uses float_product_out(), all else LibTorch with SerialLibraries.
namespace evenkeel::ops {

/// y = x w, all of one dtype.
/// \param y  [n, columns]; written
/// \param x  [n, depth]
/// \param w  [depth, columns], row-major or the transpose of a row-major matrix
void serial_matmul_out(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// As add_weight_gradient(): sum += dy^T x, or sum = dy^T x.
/// \param sum  [rows, columns], of the dtype of dy, or float32 if dy is bfloat16; updated in place
/// \param dy   [n, rows]
/// \param x    [n, columns]
void serial_add_weight_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                                bool is_first);

}  // namespace evenkeel::ops
