// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace evenkeel::ops {

/// SeeDNorm: an RMS norm whose gain depends on the row.
///
///   y = (alpha tanh(x . beta) + gain) x / sqrt(mean(x^2) + epsilon) + bias
///
/// Computed in float64 (on CUDA float32, unless x is float64), where squares of values above 1e154
/// overflow on the CPU; rounded once.
/// Gradients of vectors are summed over the rows in the order of kernels/reduction_order.h.
///
/// \param x            [..., D]; float32, bfloat16 or float64
/// \param alpha, beta  [D], or [1] for all features; float64 if x is float64, else float32
/// \param gain, bias   shape and dtype as alpha; nullopt: ones, zeros
/// \return y, of the shape and dtype of x; differentiable once with respect to all five
/// \throws c10::Error if shapes, dtypes or devices do not fit
/// \source arXiv:2510.22777 (SeeDNorm)
at::Tensor seed_norm(const at::Tensor& x, const at::Tensor& alpha, const at::Tensor& beta,
                     const std::optional<at::Tensor>& gain, const std::optional<at::Tensor>& bias,
                     double epsilon);

}  // namespace evenkeel::ops
