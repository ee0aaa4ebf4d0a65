// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// \throws c10::Error, which begins with [grouped_linear], unless x [M, I], weight [E, O, I] and
///         offsets [E + 1] fit together. The values of offsets are not checked.
void check_grouped_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& offsets);

/// \throws c10::Error, which begins with [grouped_linear], unless dy is [M, O], of the dtype and on
///         the device of x
void check_grouped_upstream(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight);

/// \throws c10::Error, which begins with [add_grouped_weight_gradient_], unless sum [E, O, I], dy
///         [M, O], x [M, I] and offsets [E + 1] fit together
void check_grouped_gradient(const at::Tensor& sum, const at::Tensor& dy, const at::Tensor& x,
                            const at::Tensor& offsets);

}  // namespace evenkeel::ops
