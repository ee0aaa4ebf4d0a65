// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// SwiGLU, the gated activation of a feed-forward layer, in one pass over memory.
///
///   y = up * silu(gate),  silu(z) = z / (1 + e^-z)
///
/// Arithmetic is float32 (float64 if up_gate is float64). The result is rounded once. Only
/// `up_gate` is saved for the backward pass, which recomputes the sigmoid.
///
/// \param up_gate  [..., 2 * F]: up in the first F values, gate in the
///                 last; float32, bfloat16 or float64, on CPU or CUDA
/// \return y, [..., F]; differentiable once
/// \throws c10::Error for another dtype, or an odd last dimension
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6
at::Tensor swiglu(const at::Tensor& up_gate);

/// The backward pass of swiglu(), which also recomputes y in the memory of dy, so that y need not
/// be saved.
///
/// \param dy  [..., F], contiguous; overwritten with y, with the bits of swiglu()
/// \return the gradient of up_gate, [..., 2 * F]
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor swiglu_backward_(const at::Tensor& dy, const at::Tensor& up_gate);

}  // namespace evenkeel::ops
