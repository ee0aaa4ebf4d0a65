// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "evenkeel/ops/norms/row_norm.h"

namespace evenkeel::ops {

/// The result of column_norm(), with the statistics per sequence and feature.
struct ColumnNormResult {
  at::Tensor y;         // [S, n, D], of the dtype of x
  at::Tensor mean;      // [S, D], float64, without a gradient
  at::Tensor variance;  // [S, D], float64, without a gradient; biased
};

/// Normalizes each feature over the positions of each sequence: BatchNorm for S = 1, where all rows
/// are one sequence; else InstanceNorm.
///
///   y = gain * (x - mean) / denominator + bias,   denominator as in row_norm()
///
/// Computed in float64 (on CUDA float32, unless x is float64) and rounded once. All sums over
/// positions are in the order of kernels/reduction_order.h.
///
/// \param x           [S, n, D], float32, bfloat16 or float64
/// \param gain, bias  [D], float64; nullopt: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to x, gain and bias
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Ioffe and Szegedy 2015, arXiv:1502.03167, algorithm 1; Ulyanov, Vedaldi and Lempitsky
///         2016, arXiv:1607.08022, eq. 3
ColumnNormResult column_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                             const std::optional<at::Tensor>& bias, double epsilon,
                             EpsilonAt epsilon_at = EpsilonAt::inside);

}  // namespace evenkeel::ops
