// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/expert_assignment.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/gather_sum.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// The indices of the k largest scores, into `chosen`. A comparison with NaN is false, so
/// that any k are distinct.
template <typename T>
void select_top_k(const T* scores, std::int64_t experts, std::int64_t k, std::int64_t* chosen) {
  for (std::int64_t j = 0; j < k; ++j) {
    const auto is_free = [&](std::int64_t e) {
      for (std::int64_t i = 0; i < j; ++i) {
        if (chosen[i] == e) return false;
      }
      return true;
    };
    std::int64_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      if ((best < 0 || scores[e] > scores[best]) && is_free(e)) best = e;
    }
    chosen[j] = best;
  }
}

/// Row n of the result is the sum of some rows of x: those named by row n of `rows`.
/// \param rows  [n] or [n, count]
at::Tensor gather_and_sum(const at::Tensor& x, const at::Tensor& rows) {
  const auto from = x.contiguous();
  const auto count = rows.dim() == 1 ? 1 : rows.size(1);
  const auto width = from.size(1);
  const auto y = at::empty({rows.size(0), width}, from.options());
  const auto* const named = rows.const_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, from.scalar_type(), "gather_and_sum", [&] {
    const auto* const source = ops::cpu::const_data<scalar_t>(from);
    auto* const to = ops::cpu::mutable_data<scalar_t>(y);
    ops::cpu::for_each_row(y.size(0), [&](std::int64_t n) {
      kernels::cpu::gather_sum(source, named + n * count, count, to + n * width, width);
    });
  });
  return y;
}

/// gather_and_sum(x, rows); the gradient is gather_and_sum(dy, rows_of_gradient).
class GatherAndSum : public torch::autograd::Function<GatherAndSum> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& rows,
                            const at::Tensor& rows_of_gradient) {
    ctx->save_for_backward({rows_of_gradient});
    return gather_and_sum(x, rows);
  }
  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    return {gather_and_sum(upstream[0], ctx->get_saved_variables()[0]), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor ExpertAssignment::tokens_per_expert() const {
  return offsets.narrow(0, 1, experts()) - offsets.narrow(0, 0, experts());
}

ExpertAssignment expert_assignment(const at::Tensor& scores, std::int64_t k) {
  const auto tokens = scores.size(0);
  const auto experts = scores.size(1);
  EK_ASSERT(1 <= k && k <= experts);
  const auto whole = scores.options().dtype(at::kLong);
  ExpertAssignment assignment = {.top_experts = at::empty({tokens, k}, whole),
                                 .permutation = at::empty({tokens * k}, whole),
                                 .token_of_row = at::empty({tokens * k}, whole),
                                 .inverse_permutation = at::empty({tokens, k}, whole),
                                 .offsets = at::zeros({experts + 1}, whole)};
  const auto given = scores.detach().contiguous();
  auto* const top_experts = assignment.top_experts.mutable_data_ptr<std::int64_t>();
  AT_DISPATCH_FLOATING_TYPES(given.scalar_type(), "expert_assignment", [&] {
    const auto* const from = given.const_data_ptr<scalar_t>();
    ops::cpu::for_each_row(tokens, [&](std::int64_t n) {
      select_top_k(from + n * experts, experts, k, top_experts + n * k);
    });
  });
  // Sorted by counting: stable, and as long as one pass over the choices.
  auto* const offsets = assignment.offsets.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens * k; ++i) ++offsets[top_experts[i] + 1];
  for (std::int64_t e = 0; e < experts; ++e) offsets[e + 1] += offsets[e];
  std::vector<std::int64_t> next(offsets, offsets + experts);
  auto* const permutation = assignment.permutation.mutable_data_ptr<std::int64_t>();
  auto* const token_of_row = assignment.token_of_row.mutable_data_ptr<std::int64_t>();
  auto* const inverse_permutation = assignment.inverse_permutation.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < tokens * k; ++i) {
    const auto at = next[static_cast<std::size_t>(top_experts[i])]++;
    permutation[at] = i;
    token_of_row[at] = i / k;
    inverse_permutation[i] = at;
  }
  return assignment;
}

at::Tensor dispatch(const at::Tensor& x, const ExpertAssignment& assignment) {
  return GatherAndSum::apply(x, assignment.token_of_row, assignment.inverse_permutation);
}

at::Tensor combine(const at::Tensor& x, const ExpertAssignment& assignment) {
  return GatherAndSum::apply(x, assignment.inverse_permutation, assignment.token_of_row);
}

}  // namespace evenkeel::nn
