// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "evenkeel/ops/norms/row_norm.h"

namespace evenkeel::ops {

/// What column_norm() gives: the result, and of every sequence the mean and the biased variance of
/// each feature, [S, D], in double and without a gradient.
struct ColumnNormResult {
  at::Tensor y, mean, variance;
};

/// Every feature centred and over its standard deviation over the positions of one sequence: batch
/// normalization of all rows as one sequence, instance normalization of several.
///
///   y = gain * (x - mean) / denominator + bias,   denominator as row_norm() has it
///
/// Computed in double and rounded once. All sums over positions are in the order of
/// kernels/reduction_order.h.
///
/// \param x           [S, n, D], float32, bfloat16 or float64, on the CPU
/// \param gain, bias  [D], float64; none means ones, and zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to x, gain and bias
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1; Ulyanov, Vedaldi and Lempitsky
///         2016, arXiv:1607.08022, eq. 3
ColumnNormResult column_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                             const std::optional<at::Tensor>& bias, double epsilon,
                             EpsilonAt epsilon_at = EpsilonAt::inside);

}  // namespace evenkeel::ops
