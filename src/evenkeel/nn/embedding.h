// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/common/embedding.h"

namespace evenkeel::nn {

/// ops::embedding() of a weight and its gradient buffer.
/// \param weight  [rows, D]
/// \param ids     [...], int64
/// \return [..., D]
inline at::Tensor embedding(const Weight& weight, const at::Tensor& ids) {
  return ops::embedding(weight.value, ids, weight.gradient_buffer);
}

}  // namespace evenkeel::nn
