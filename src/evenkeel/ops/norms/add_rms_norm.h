// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace evenkeel::ops {

/// Residual addition and RMS norm in one pass over memory.
///
///   sum = residual + branch, rounded to their dtype
///   y   = rms_norm(sum, gain, epsilon)
///
/// Both results are differentiable. The gradients of residual and branch are equal.
///
/// \param residual, branch  [..., D], of one shape, dtype and device; float32, bfloat16, float64
/// \param gain, epsilon     as in rms_norm()
/// \return (sum, y), of the shape and dtype of residual; differentiable once
/// \throws c10::Error if shapes, dtypes or devices do not fit
std::tuple<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual,
                                                const at::Tensor& branch,
                                                const std::optional<at::Tensor>& gain,
                                                double epsilon = 1e-5);

}  // namespace evenkeel::ops
