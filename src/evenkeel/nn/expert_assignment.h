// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "evenkeel/ops/moe/expert_assignment.h"

namespace evenkeel::nn {

using ops::expert_assignment;
using ops::ExpertAssignment;

/// A token's row once for each of its experts, sorted by expert: y[m] = x[token_of_row[m]].
/// \param x  [N, D]
/// \return [N k, D]
at::Tensor dispatch(const at::Tensor& x, const ExpertAssignment& assignment);

/// The sum of a token's rows, in the order of its choices:
///   y[n] = sum over j of x[inverse_permutation[n, j]]
/// \param x  [N k, D]
/// \return [N, D]
at::Tensor combine(const at::Tensor& x, const ExpertAssignment& assignment);

}  // namespace evenkeel::nn
