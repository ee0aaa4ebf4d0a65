// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Reparameterized weights (torch.nn.utils.parametrize), computed from stored weights in each pass:
/// by the operators of ops/norms/ if fused and on the CPU, else by ops/common/reference.h. All are
/// differentiable once.
namespace evenkeel::nn {

/// reference::weight_norm_rows().
/// \param v         [rows, columns]
/// \param row_gain  [rows], contiguous; float64 if v is float64, else float32
at::Tensor weight_norm(const at::Tensor& v, const at::Tensor& row_gain, bool fused = true);

/// reference::sigma_rows().
/// \param gamma        [1]; float64 if v is float64, else float32
/// \param left, right  [rows], [columns]: detached, contiguous, of the dtype of gamma
at::Tensor sigma_reparam(const at::Tensor& v, const at::Tensor& gamma, const at::Tensor& left,
                         const at::Tensor& right, bool fused = true);

/// ops::power_iteration_() without gradient: one step towards the largest singular value of V.
/// \param v            [rows, columns]
/// \param left, right  as above; updated in place
void power_iteration(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right);

}  // namespace evenkeel::nn
