// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/moe/expert_assignment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using Tensor5 = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using ExpertAssignmentSignature = Tensor5(const Tensor&, std::int64_t);

Tensor5 expert_assignment_meta(const Tensor& scores, std::int64_t k) {
  const auto tokens = scores.sym_size(0);
  const auto options = scores.options().dtype(at::kLong);
  return {at::empty_symint({tokens, k}, options), at::empty_symint({tokens * k}, options),
          at::empty_symint({tokens * k}, options), at::empty_symint({tokens, k}, options),
          at::empty_symint({scores.sym_size(1) + 1}, options)};
}

}  // namespace

Tensor ExpertAssignment::tokens_per_expert() const {
  return offsets.narrow(0, 1, experts()) - offsets.narrow(0, 0, experts());
}

ExpertAssignment expert_assignment(const Tensor& scores, std::int64_t k) {
  static const auto op =
      registered_operator<ExpertAssignmentSignature>("evenkeel::expert_assignment");
  const auto [top_experts, permutation, token_of_row, inverse_permutation, offsets] =
      op.call(scores.detach(), k);
  return {top_experts, permutation, token_of_row, inverse_permutation, offsets};
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "expert_assignment(Tensor scores, int k) -> (Tensor top_experts, Tensor permutation,"
      " Tensor token_of_row, Tensor inverse_permutation, Tensor offsets)");
}

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("expert_assignment", expert_assignment_meta);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("expert_assignment", autograd_not_implemented());
}

}  // namespace evenkeel::ops
