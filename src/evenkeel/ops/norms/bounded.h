// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// Dynamic Tanh (DyT) and Derf, element-wise bounded functions in place of a norm.
///
///   y = gain * f(alpha * x + shift) + bias,  f = tanh or erf
///
/// Computed in float64 (on CUDA float32, unless x is float64) and rounded once, to the dtype of x.
/// Gradients of the parameters are summed over the rows in the order of kernels/reduction_order.h.
///
/// \param x             [..., D]; float32, bfloat16 or float64
/// \param alpha, shift  [1], float64; shift nullopt: 0
/// \param gain, bias    [D], or [1] for all features; float64 if x is float64, else
///                      float32; nullopt: ones, zeros
/// \param is_erf        true: f = erf (Derf); false: f = tanh (DyT)
/// \return y, of the shape and dtype of x; differentiable once with respect to all five
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Zhu et al. 2025, arXiv:2503.10622 (DyT: tanh); arXiv:2512.10938 (Derf: erf)
at::Tensor bounded(const at::Tensor& x, const at::Tensor& alpha,
                   const std::optional<at::Tensor>& shift, const std::optional<at::Tensor>& gain,
                   const std::optional<at::Tensor>& bias, bool is_erf);

}  // namespace evenkeel::ops
