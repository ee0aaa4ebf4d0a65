// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// The gated activation of a feed-forward layer in one pass over up and gate.
///
///   y = up * silu(gate),  silu(z) = z / (1 + e^-z)
///
/// Arithmetic is in float32, beside float64 in float64; the result is rounded once. Only `up_gate`
/// is saved for the backward pass, which recomputes the sigmoid.
///
/// \param up_gate  (`products` of the schema) [..., 2 * F]: up in the first F values, gate in the
///                 last; float32, bfloat16 or float64, on CPU or CUDA
/// \return y, [..., F]; differentiable once
/// \throws c10::Error for another dtype, or a width that is odd
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6
at::Tensor swiglu(const at::Tensor& up_gate);

/// The gradient of up_gate, [..., 2 * F], and y recomputed in place of dy: a caller that needs both
/// need not save y.
///
/// \param dy  [..., F], contiguous; becomes y, with the bits of swiglu()
/// \throws c10::Error for sizes or dtypes that do not belong together
at::Tensor swiglu_backward_(const at::Tensor& dy, const at::Tensor& up_gate);

}  // namespace evenkeel::ops
