// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// Rows times the matrix of their group: y[m] = W_e x[m] for offsets[e] <= m < offsets[e + 1]. All
/// groups share one loop over blocks of rows, so that small groups keep all threads busy; the bits
/// do not depend on the number of threads.
///
/// \param x       [M, I], sorted by group
/// \param weight  [E, O, I]; a group without rows gets a gradient of zeros. If it has a sum of
///                gradients, the backward pass adds to that, and autograd sees none
/// \param offsets  [E + 1], int64: 0 first, M last
/// \return [M, O]
at::Tensor grouped_linear(const at::Tensor& x, const Weight& weight, const at::Tensor& offsets);

}  // namespace evenkeel::nn
