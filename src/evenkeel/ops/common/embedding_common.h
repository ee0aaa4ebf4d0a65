// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace evenkeel::ops {

/// \throws c10::Error, which begins with [add_embedding_gradient_], unless gradient [rows, D], dy
///         [n, D] and ids [n] fit together, on one device. The values of ids are not checked.
void check_embedding_gradient(const at::Tensor& gradient, const at::Tensor& dy,
                              const at::Tensor& ids);

}  // namespace evenkeel::ops
