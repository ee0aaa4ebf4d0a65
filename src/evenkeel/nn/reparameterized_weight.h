// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Weights that are computed from stored ones in each pass. Fused and on a CPU they are the
/// operators of ops/norms/, else the formulas of ops/common/reference.h. All are differentiable
/// once.
namespace evenkeel::nn {

/// reference::weight_norm_rows().
/// \param v         [rows, columns]
/// \param row_gain  [rows], contiguous; float32, or float64 beside float64
at::Tensor weight_norm(const at::Tensor& v, const at::Tensor& row_gain, bool fused = true);

/// reference::sigma_rows().
/// \param gamma        [1]
/// \param left, right  [rows], [columns]: constants to the gradient; contiguous and of the dtype of
///                     gamma, which is that of a row gain
at::Tensor sigma_reparam(const at::Tensor& v, const at::Tensor& gamma, const at::Tensor& left,
                         const at::Tensor& right, bool fused = true);

/// ops::power_iteration_() without gradient: one step towards the largest singular value of V.
/// \param v            [rows, columns]
/// \param left, right  as above; changed
void power_iteration(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right);

}  // namespace evenkeel::nn
