// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/moe/expert_assignment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/moe/expert_assignment_common.h"

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

ExpertAssignment empty_expert_assignment(const Tensor& scores, std::int64_t k) {
  const auto dtype = scores.scalar_type();
  TORCH_CHECK(scores.dim() == 2 && (dtype == at::kFloat || dtype == at::kDouble),
              "[expert_assignment] scores must be [N, E] of float32 or float64, but are ",
              scores.sizes(), " of ", dtype_name(dtype));
  const auto tokens = scores.size(0), experts = scores.size(1);
  TORCH_CHECK(1 <= k && k <= experts, "[expert_assignment] k must be 1 to ", experts,
              ", the number of experts, but is ", k);
  const auto options = scores.options().dtype(at::kLong);
  return {.top_experts = at::empty({tokens, k}, options),
          .permutation = at::empty({tokens * k}, options),
          .token_of_row = at::empty({tokens * k}, options),
          .inverse_permutation = at::empty({tokens, k}, options),
          .offsets = at::zeros({experts + 1}, options)};
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
