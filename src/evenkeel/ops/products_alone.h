// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Products for who has many of them, each of some rows, and hands them to threads himself: inside
/// a parallel region each is made by the thread that calls. On a CPU with AMX those of bfloat16 are
/// made in tiles of our own; elsewhere by LibTorch.
namespace evenkeel::ops {

/// Whether products of such values are made in tiles of our own, where a row of the result does not
/// depend on which others are made with it.
bool in_own_tiles(const at::Tensor& x);

/// y = x w, all of one dtype.
/// \param y  [n, columns]; written
/// \param x  [n, depth]
/// \param w  [depth, columns], or the transpose of such rows
void multiply_alone(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// As add_weight_gradient(): sum += dy^T x, or sum = dy^T x.
/// \param sum  [rows, columns], of the dtype of dy, or float32 beside bfloat16; changed
/// \param dy   [n, rows]
/// \param x    [n, columns]
void add_weight_gradient_alone(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                               bool is_first);

}  // namespace evenkeel::ops
