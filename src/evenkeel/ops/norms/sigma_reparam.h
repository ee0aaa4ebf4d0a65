// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Sigma-Reparam: a matrix / estimate of its largest singular value * learned scale.
///
///   w = (gamma / sigma) V,  sigma = left . V right;  w = gamma V if sigma is 0
///
/// Computed in float64 and rounded once. left and right are detached, and cloned for the backward
/// pass, so that power_iteration_() may change them before it.
///
/// \param v      [rows, columns]; float32, bfloat16 or float64
/// \param gamma  [1]; float64 if v is float64, else float32
/// \param left   [rows], of the dtype of gamma
/// \param right  [columns], of the dtype of gamma
/// \return w, of the shape and dtype of v; differentiable once with respect to v and gamma
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhai et al. 2023, arXiv:2303.06296
at::Tensor sigma_reparam(const at::Tensor& v, const at::Tensor& gamma, const at::Tensor& left,
                         const at::Tensor& right);

/// One step of the power iteration for the largest singular value of V, in place:
///
///   left = unit(V right), right = unit(V^T left),  unit(x) = x / max(|x|, 1e-12)
///
/// Call it under torch.no_grad().
///
/// \param v      [rows, columns]; float32, bfloat16 or float64
/// \param left   [rows]; float64 if v is float64, else float32; updated in place
/// \param right  [columns], of the dtype of left; updated in place
/// \throws c10::Error if shapes, dtypes or devices do not fit
void power_iteration_(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right);

}  // namespace evenkeel::ops
