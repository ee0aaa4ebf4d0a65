// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Products by the thread that calls them, for who has many small ones and hands them to threads
/// himself. On a CPU with AMX those of bfloat16 are made in tiles of our own, others by LibTorch.
namespace evenkeel::ops {

/// y = x w.
/// \param y  [n, columns]; its rows lie together
/// \param x  [n, depth], the same
/// \param w  [depth, columns], in rows or in columns
void multiply_alone(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w);

/// add_weight_gradient().
void add_weight_gradient_alone(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                               bool is_first);

}  // namespace evenkeel::ops
