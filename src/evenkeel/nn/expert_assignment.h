// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/moe/expert_assignment.h"

namespace evenkeel::nn {

using ops::expert_assignment;
using ops::ExpertAssignment;

/// Copies the row of each token to its experts, sorted by expert: y[m] = x[token_of_row[m]].
/// \param x  [N, D]
/// \return [N k, D]
at::Tensor dispatch(const at::Tensor& x, const ExpertAssignment& assignment);

/// Sums the rows of each token, in the order of top_experts:
///   y[n] = sum over j of x[inverse_permutation[n, j]]
/// \param x  [N k, D]
/// \return [N, D]
at::Tensor combine(const at::Tensor& x, const ExpertAssignment& assignment);

}  // namespace evenkeel::nn
