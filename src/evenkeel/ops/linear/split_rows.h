// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// The rows of a weight in blocks, for weights that are computed from those that are stored. Their
/// gradients go into the rows of the buffer, without a tensor of all of them in between.
///
/// \param w       [rows, ...]
/// \param sizes   rows of each block; their sum is that of w
/// \param buffer  of w; empty: autograd returns the gradient
/// \return views of w, one for each size; with a buffer differentiable once
std::vector<at::Tensor> split_rows(const at::Tensor& w, const std::vector<std::int64_t>& sizes,
                                   const GradientBuffer& buffer);

}  // namespace evenkeel::ops
