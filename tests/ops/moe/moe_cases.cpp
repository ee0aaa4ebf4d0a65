// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/moe/expert_assignment.h"
#include "evenkeel/ops/moe/gather_sum.h"
#include "evenkeel/ops/moe/scale_rows.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

OperatorCase scale_rows_case() {
  return {
      .name = "scale_rows",
      .inputs = [](std::int64_t n) { return Inputs{rows({n, 37}), vector(n)}; },
      .run = [](const Tensors& in) { return Tensors{ops::scale_rows(in[0], in[1])}; },
      .formula = [](const Tensors& in) { return Tensors{in[0] * in[1].unsqueeze(1)}; },
      .refusals = {{"[scale_rows] x must be [M, D] and weights [M], but they are [2, 3] and [3]",
                    [] { ops::scale_rows(at::ones({2, 3}), at::ones({3})); }},
                   {"[scale_rows] weights must be float32 on cpu, for x of bfloat16, but is "
                    "bfloat16 on cpu",
                    [] {
                      ops::scale_rows(at::ones({2, 3}, at::kBFloat16),
                                      at::ones({2}, at::kBFloat16));
                    }}}};
}

constexpr std::int64_t kTopK = 3;

/// Each row of y is the sum of kTopK of the rows of x: a combination of experts.
Inputs combination(std::int64_t n) {
  const auto permutation = at::randperm(n * kTopK, at::kLong);
  const auto inverse = at::argsort(permutation).view({n, kTopK});
  return {rows({n * kTopK, 37}),
          {inverse, Role::index},
          {at::floor_divide(permutation, kTopK), Role::index}};
}

void refused_gather(const at::Tensor& index) {
  ops::gather_sum(at::ones({4, 3}), index, at::zeros({4}, at::kLong));
}

/// The last of many rows does not exist.
void refused_last_row() {
  const auto index = at::zeros({9000}, at::kLong);
  index.narrow(0, 8999, 1).fill_(-1);
  ops::gather_sum(at::ones({4, 3}), index, at::zeros({4, 2250}, at::kLong));
}

OperatorCase gather_sum_case() {
  return {
      .name = "gather_sum",
      .inputs = combination,
      .run = [](const Tensors& in) { return Tensors{ops::gather_sum(in[0], in[1], in[2])}; },
      .formula =
          [](const Tensors& in) {
            const auto terms = in[0].index_select(0, in[1].flatten());
            return Tensors{terms.view({in[1].size(0), kTopK, 37}).sum(1)};
          },
      .refusals =
          {{"[gather_sum] rows must be [N] or [N, k] of int64 on cpu, but is [4] of int32 on cpu",
            [] { refused_gather(at::zeros({4}, at::kInt)); }},
           {"[gather_sum] gradient_rows must have the 4 rows of x and the 2 terms of rows, but "
            "is [4]",
            [] { refused_gather(at::zeros({2}, at::kLong)); }},
           {"[gather_sum] rows must be 0 to 3, but are 4 to 4",
            [] { refused_gather(at::full({4}, 4, at::kLong)); }},
           {"[gather_sum] rows must be 0 to 3, but are -1 to 0", refused_last_row}}};
}

/// The experts of each token by at::topk, and a stable sort of them. Scores are distinct.
Tensors assignment_formula(const at::Tensor& scores, std::int64_t k) {
  const auto top_experts = std::get<1>(at::topk(scores, k));
  const auto order = at::argsort(top_experts.flatten(), /*stable=*/true, 0, false);
  const auto counts = at::bincount(top_experts.flatten(), {}, scores.size(1));
  return {top_experts, order, at::floor_divide(order, k), at::argsort(order).view({-1, k}),
          at::cat({at::zeros({1}, at::kLong), counts.cumsum(0)})};
}

OperatorCase expert_assignment_case() {
  return {.name = "expert_assignment",
          .inputs =
              [](std::int64_t n) { return Inputs{{at::rand({n, 12}, at::kDouble), Role::vector}}; },
          .run =
              [](const Tensors& in) {
                const auto found = ops::expert_assignment(in[0], 4);
                return Tensors{found.top_experts, found.permutation, found.token_of_row,
                               found.inverse_permutation, found.offsets};
              },
          .formula = [](const Tensors& in) { return assignment_formula(in[0], 4); },
          .refusals = {{"[expert_assignment] scores must be [N, E] of float32 or float64, but are "
                        "[3, 4] of bfloat16",
                        [] { ops::expert_assignment(at::ones({3, 4}, at::kBFloat16), 1); }},
                       {"[expert_assignment] k must be 1 to 4, the number of experts, but is 5",
                        [] { ops::expert_assignment(at::ones({3, 4}), 5); }}},
          .rows = 2100,  // three blocks of 4096 choices
          .rows_of_threads = 2100,
          .has_gradient = false};
}

}  // namespace

std::vector<OperatorCase> moe_cases() {
  return {scale_rows_case(), gather_sum_case(), expert_assignment_case()};
}

}  // namespace evenkeel::testing
