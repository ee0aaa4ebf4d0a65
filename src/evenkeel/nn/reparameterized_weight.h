// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Weights that are computed from stored ones in each pass. Fused and on a CPU they are computed
/// row by row, in double, rounded once: no intermediate is written to memory. Else by the formulas
/// of ops/reference.h. All are differentiable once.
namespace evenkeel::nn {

/// reference::weight_norm_rows().
/// \param v         [rows, columns]
/// \param row_gain  [rows], contiguous; float32, or float64 beside float64
at::Tensor weight_norm(const at::Tensor& v, const at::Tensor& row_gain, bool fused = true);

/// reference::sigma_rows().
/// \param gamma        [1]
/// \param left, right  [rows], [columns]: constants to the gradient; contiguous and of the dtype of
///                     a row gain, as gamma is
at::Tensor sigma_reparam(const at::Tensor& v, const at::Tensor& gamma, const at::Tensor& left,
                         const at::Tensor& right, bool fused = true);

/// One step towards the largest singular value of V, left . V right, in place and without gradient:
///   left = unit(V right), right = unit(V^T left)
/// \param v            [rows, columns]
/// \param left, right  as above
void power_iteration(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right);

}  // namespace evenkeel::nn
