// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// The gated activation of a feed-forward layer in one pass over its two products.
///
///   y = up * silu(gate),  silu(z) = z / (1 + e^-z)
///
/// Arithmetic is in float32, beside float64 in float64; the result is rounded once. Only `products`
/// is kept for the backward pass, which computes the logistic function again.
///
/// \param products  [..., 2 * F]: up in the first F values, gate in the others; float32, bfloat16
/// or
///                  float64, on CPU or CUDA
/// \return y, [..., F]; differentiable once
/// \throws c10::Error for another dtype, or a width that is odd
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6
at::Tensor swiglu(const at::Tensor& products);

/// The gradient of the products, [..., 2 * F], and y again in the place of dy: whoever needs both
/// then need not have kept y.
///
/// \param dy  [..., F], contiguous; becomes y, with the bits of swiglu()
/// \throws c10::Error for sizes or dtypes that do not belong together
at::Tensor swiglu_backward_(const at::Tensor& dy, const at::Tensor& products);

}  // namespace evenkeel::ops
