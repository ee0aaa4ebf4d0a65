// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// The second half of a gated feed-forward layer: swiglu(up_gate) W^T, with the bits of linear()
/// after swiglu().
///
/// The output of swiglu() is not saved: the backward pass recomputes it for the gradient of w, in
/// the pass over memory that computes the gradient of up_gate (swiglu_backward_()).
///
/// \param up_gate  [..., 2 * F]: up in the first F values, gate in the
///                 last
/// \param w        [rows, F]
/// \param gradient_buffer  [rows, F]: as in linear()
/// \return [..., rows]; differentiable once with respect to up_gate and w
/// \throws c10::Error if shapes or dtypes do not fit, or on double backward
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6
at::Tensor swiglu_linear(const at::Tensor& up_gate, const at::Tensor& w,
                         const GradientBuffer& gradient_buffer = {});

}  // namespace evenkeel::ops
