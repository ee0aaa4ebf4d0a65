// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// LayerNorm: centers each row of x, divides it by its standard deviation, applies gain and bias.
///
///   y = gain * (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) + bias
///
/// A mean that is large against the deviation does not cancel digits. A constant row gives exactly
/// the bias. Accumulation is float64; bfloat16 on a CPU with AMX: float32 if the mean is near 0.
/// Range, rounding and backward precision are those of rms_norm().
///
/// \param x           [..., D], float32, bfloat16 or float64, on CPU or CUDA
/// \param gain, bias  [D], float64 if x is float64, else float32; nullopt: ones, zeros
/// \param epsilon     in units of x^2, >= 0
/// \return y, of the shape and dtype of x; differentiable once with respect to x, gain and bias
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source Ba, Kiros and Hinton 2016, arXiv:1607.06450, eq. 4
at::Tensor layer_norm(const at::Tensor& x, const std::optional<at::Tensor>& gain,
                      const std::optional<at::Tensor>& bias, double epsilon = 1e-5);

}  // namespace evenkeel::ops
