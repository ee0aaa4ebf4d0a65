// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// \throws c10::Error, which begins with [swiglu_backward_], unless y fits into the memory of dy:
///         dy [..., F] must be contiguous, with the dtype and device of up_gate [..., 2 * F]
void check_in_place(const at::Tensor& dy, const at::Tensor& up_gate);

}  // namespace evenkeel::ops
