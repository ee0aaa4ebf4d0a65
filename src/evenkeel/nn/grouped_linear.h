// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/linear/grouped_linear.h"

namespace evenkeel::nn {

/// ops::grouped_linear() of the experts' weights and their gradient buffer.
/// \param x        [M, I], sorted by group
/// \param weight   [E, O, I]
/// \param offsets  [E + 1], int64: 0 first, M last
/// \return [M, O]
inline at::Tensor grouped_linear(const at::Tensor& x, const Weight& weight,
                                 const at::Tensor& offsets) {
  return ops::grouped_linear(x, weight.value, offsets, weight.gradient_buffer);
}

}  // namespace evenkeel::nn
