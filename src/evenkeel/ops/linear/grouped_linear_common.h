// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// \throws c10::Error, which begins with [grouped_linear], unless x [M, I], weight [E, O, I] and
///         offsets [E + 1] fit together. The values of offsets are not checked.
void check_grouped_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offsets);

}  // namespace evenkeel::ops
