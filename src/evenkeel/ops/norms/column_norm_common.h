// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/norms/column_norm.h"

namespace evenkeel::ops {

/// The slope in the gradient of a norm over `rows` values, -2 rho'(s) / (n rho^2); rho / n for an
/// epsilon inside of the root.
/// \param variance, rho  float64, of one shape
at::Tensor column_slope(const at::Tensor& variance, const at::Tensor& rho, double epsilon,
                        EpsilonAt placement, std::int64_t rows);

/// [D], float64, contiguous: `vector`, or `value` everywhere.
at::Tensor double_vector_or(const OptionalTensor& vector, double value, const at::Tensor& x);

}  // namespace evenkeel::ops
