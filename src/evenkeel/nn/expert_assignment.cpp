// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/expert_assignment.h"

#include "evenkeel/ops/moe/gather_sum.h"

namespace evenkeel::nn {

at::Tensor dispatch(const at::Tensor& x, const ExpertAssignment& assignment) {
  return ops::gather_sum(x, assignment.token_of_row, assignment.inverse_permutation);
}

at::Tensor combine(const at::Tensor& x, const ExpertAssignment& assignment) {
  return ops::gather_sum(x, assignment.inverse_permutation, assignment.token_of_row);
}

}  // namespace evenkeel::nn
