// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// sum += dy^T x, or sum = dy^T x: the gradient of the weight of y = x w^T, straight into where
/// gradients are summed.
///
/// On a processor with AMX those of bfloat16 are made in tiles of our own with sums of float32, in
/// a parallel region by the thread that calls; elsewhere the product is rounded to bfloat16 first.
///
/// \param sum  [rows, columns], of the dtype of dy, or float32 beside bfloat16; changed
/// \param dy   [n, rows]
/// \param x    [n, columns]
/// \param is_first  what was in `sum` does not count, and is not read
void add_weight_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                         bool is_first = false);

/// Whether such a sum is made in tiles of our own: float32 in rows beside bfloat16, on a CPU with
/// AMX.
bool is_summed_in_tiles(const at::Tensor& sum, const at::Tensor& dy);

}  // namespace evenkeel::ops
