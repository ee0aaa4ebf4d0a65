// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

/// Matrices that are computed out of stored ones each time, each in one pass over memory there and
/// two at most back. On a CPU; elsewhere by formulas. In double (on a CPU), rounded once.
namespace evenkeel::nn {

/// Row j = row_gain_j v_j / |v_j|; zeros stay zeros.
/// \param v         [rows, columns]
/// \param row_gain  [rows], float32, or float64 beside float64
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2
at::Tensor weight_normed(const at::Tensor& v, const at::Tensor& row_gain);

/// (gamma / sigma) V, sigma = left . V right; zeros stay zeros.
/// \param gamma        [1]; left [rows], right [columns]: constants to the gradient; of the dtype
///                     of a row gain
/// \source Zhai et al. 2023, arXiv:2303.06296
at::Tensor sigma_reparametrized(const at::Tensor& v, const at::Tensor& gamma,
                                const at::Tensor& left, const at::Tensor& right);

/// One step towards the largest singular value of V, left . V right, in place and without gradient:
///   left = unit(V right), right = unit(V^T left)
/// \param v  [rows, columns]; left [rows], right [columns]
void power_iteration(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right);

}  // namespace evenkeel::nn
