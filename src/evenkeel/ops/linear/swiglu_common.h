// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// \throws c10::Error, which begins with [swiglu_backward_], unless y fits into the memory of dy:
///         dy is contiguous, [..., F] beside up_gate [..., 2 * F], of one dtype and device
void check_in_place(const at::Tensor& dy, const at::Tensor& up_gate);

}  // namespace evenkeel::ops
