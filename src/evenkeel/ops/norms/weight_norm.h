// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// Weight normalization: each row of a matrix is divided by its L2 norm and scaled by a learned
/// gain.
///
///   w_j = row_gain_j v_j / |v_j|;  a zero row stays zero
///
/// Computed in float64, row by row, and rounded once. No intermediate is written to memory.
///
/// \param v         [rows, columns]; float32, bfloat16 or float64
/// \param row_gain  [rows]; float64 if v is float64, else float32
/// \return w, of the shape and dtype of v; differentiable once with respect to both
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2
at::Tensor weight_norm(const at::Tensor& v, const at::Tensor& row_gain);

}  // namespace evenkeel::ops
