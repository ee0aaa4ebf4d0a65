// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// ops::grouped_linear() of the experts' weights and their gradient buffer. A quantized weight is
/// multiplied by ops::int8_linear() of each expert; with more than kFewRowsOfInt8 rows it is
/// dequantized.
/// \param x        [M, I], sorted by group
/// \param weight   [E, O, I]
/// \param offsets  [E + 1], int64: 0 first, M last
/// \return [M, O]
at::Tensor grouped_linear(const at::Tensor& x, const Weight& weight, const at::Tensor& offsets);

}  // namespace evenkeel::nn
