// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/expert_assignment.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>
#include <tuple>
#include <vector>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/nn/grouped_linear.h"
#include "evenkeel/ops/moe/scale_rows.h"
#include "support/close.h"
#include "support/lists.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::List;
using testing::list_of;

TEST(ExpertAssignment, IsSortedByExpertThenByToken) {
  const auto scores = at::tensor({0.1, 0.7, 0.2,  //
                                  0.5, 0.1, 0.4,  //
                                  0.3, 0.6, 0.1})
                          .to(at::kDouble)
                          .view({3, 3});
  const auto assignment = nn::expert_assignment(scores, 2);
  EXPECT_EQ(list_of(assignment.top_experts), List({1, 2, 0, 2, 1, 0}));
  EXPECT_EQ(list_of(assignment.offsets), List({0, 2, 4, 6}));
  EXPECT_EQ(list_of(assignment.tokens_per_expert()), List({2, 2, 2}));
  EXPECT_EQ(list_of(assignment.token_of_row), List({1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(list_of(assignment.permutation), List({2, 5, 0, 4, 1, 3}));
  EXPECT_EQ(list_of(assignment.inverse_permutation), List({2, 4, 0, 5, 3, 1}));
}

TEST(ExpertAssignment, TakesTheLowerIndexOfEqualScores) {
  EXPECT_EQ(list_of(nn::expert_assignment(at::ones({2, 4}), 3).top_experts),
            List({0, 1, 2, 0, 1, 2}));
  const auto two = at::tensor({0.1F, 0.4F, 0.1F, 0.4F}).view({1, 4});
  EXPECT_EQ(list_of(nn::expert_assignment(two, 3).top_experts), List({1, 3, 0}));
}

TEST(ExpertAssignment, HasDistinctExpertsEvenForNan) {
  const auto nan = at::full({2, 3}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  EXPECT_EQ(list_of(nn::expert_assignment(nan, 2).top_experts), List({0, 1, 0, 1}));
}

TEST(ExpertAssignment, CombinesTheRowsThatWereDispatched) {
  const auto x = at::arange(12, at::kDouble).view({4, 3});
  const auto assignment = nn::expert_assignment(at::rand({4, 6}), 3);
  EXPECT_TRUE(nn::combine(nn::dispatch(x, assignment), assignment).equal(3 * x));
  EXPECT_TRUE(nn::dispatch(x, assignment).equal(x.index_select(0, assignment.token_of_row)));
}

/// Groups of different sizes, one of them empty.
struct Groups {
  at::Tensor x = at::randn({700, 24}, at::kDouble).requires_grad_();
  at::Tensor weight = at::randn({4, 40, 24}, at::kDouble).requires_grad_();
  at::Tensor offsets = at::tensor({0L, 600L, 600L, 601L, 700L}, at::kLong);
};

TEST(GroupedLinear, MultipliesEachGroupWithItsMatrix) {
  const Groups groups;
  const auto dy = at::randn({700, 40}, at::kDouble);
  std::vector<at::Tensor> parts;
  for (std::int64_t e = 0; e < 4; ++e) {
    const auto first = groups.offsets[e].item<std::int64_t>();
    const auto last = groups.offsets[e + 1].item<std::int64_t>();
    parts.push_back(at::linear(groups.x.narrow(0, first, last - first), groups.weight[e]));
  }
  const auto expected = at::cat(parts);
  expected.backward(dy);
  const auto dx = groups.x.grad().clone(), dw = groups.weight.grad().clone();
  groups.x.mutable_grad() = groups.weight.mutable_grad() = at::Tensor();
  const auto y = nn::grouped_linear(groups.x, groups.weight, groups.offsets);
  y.backward(dy);
  EXPECT_TRUE(close(y, expected, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.x.grad(), dx, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.weight.grad(), dw, 1e-12, 1e-11));
  EXPECT_FALSE(groups.weight.grad()[1].any().item<bool>());
}

/// What a group's product leaves in y, dx and the sum of the gradients of its matrices.
std::vector<at::Tensor> bfloat16_step(int threads) {
  const auto before = at::get_num_threads();
  at::set_num_threads(threads);
  at::manual_seed(5);
  const auto leaf = [](at::IntArrayRef sizes) {
    return at::randn(sizes).to(at::kBFloat16).requires_grad_();
  };
  const auto x = leaf({1500, 72}), weight = leaf({4, 40, 72});
  const auto dy = at::randn({1500, 40}).to(at::kBFloat16);
  const auto offsets = at::tensor({0L, 1100L, 1100L, 1101L, 1500L}, at::kLong);
  const ops::GradientBuffer sum(at::full(weight.sizes(), 7.F));
  for (int part = 0; part < 2; ++part) {  // as two parts of a batch
    x.mutable_grad() = at::Tensor();
    nn::grouped_linear(x, {weight, sum}, offsets).backward(dy);
  }
  const auto y = nn::grouped_linear(x, weight, offsets).detach();
  at::set_num_threads(before);
  EXPECT_FALSE(weight.grad().defined());
  return {y, x.grad(), sum.value(), x.detach(), weight.detach(), dy};
}

TEST(GroupedLinear, OfBfloat16RoundsOnceAndAddsToFloat32) {
  const auto step = bfloat16_step(2);
  const auto x = step[3].to(at::kDouble), weight = step[4].to(at::kDouble);
  const auto dy = step[5].to(at::kDouble);
  for (const auto& [e, first, count] :
       {std::tuple{0L, 0L, 1100L}, {2L, 1100L, 1L}, {3L, 1101L, 399L}}) {
    const auto rows = [&](const at::Tensor& of) { return of.narrow(0, first, count); };
    constexpr double kOnce = 0x1p-8;
    EXPECT_TRUE(close(rows(step[0]), at::mm(rows(x), weight[e].t()), kOnce, 1e-4)) << e;
    EXPECT_TRUE(close(rows(step[1]), at::mm(rows(dy), weight[e]), kOnce, 1e-4)) << e;
    const auto gradient = 2 * at::mm(rows(dy).t(), rows(x));
    // Without AMX and AVX-512 BF16, products of bfloat16 are rounded before they are added.
    const bool is_exact = kernels::cpu::has_amx() || kernels::cpu::has_avx512_bf16();
    EXPECT_TRUE(close(step[2][e], gradient, is_exact ? 1e-5 : 2 * kOnce, 1e-3)) << e;
  }
  EXPECT_FALSE(step[2][1].any().item<bool>());
}

TEST(GroupedLinear, OfBfloat16HasTheSameBitsForEveryNumberOfThreads) {
  const auto one = bfloat16_step(1), two = bfloat16_step(2);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
}

TEST(ScaleRows, MultipliesEachRowByItsWeight) {
  const auto x = at::randn({70, 37}, at::kDouble).requires_grad_();
  const auto weights = at::randn({70}, at::kDouble).requires_grad_();
  const auto dy = at::randn({70, 37}, at::kDouble);
  const auto y = ops::scale_rows(x, weights);
  y.backward(dy);
  EXPECT_TRUE(y.equal(x * weights.unsqueeze(1)));
  EXPECT_TRUE(x.grad().equal(dy * weights.unsqueeze(1)));
  EXPECT_TRUE(close(weights.grad(), (dy * x).sum(1), 1e-13, 1e-13));
}

TEST(ScaleRows, RoundsBfloat16Once) {
  const auto x = at::randn({70, 37}).to(at::kBFloat16).requires_grad_();
  const auto weights = at::rand({70}).requires_grad_();
  const auto dy = at::randn({70, 37}).to(at::kBFloat16);
  const auto y = ops::scale_rows(x, weights);
  y.backward(dy);
  EXPECT_TRUE(y.equal((x.to(at::kFloat) * weights.unsqueeze(1)).to(at::kBFloat16)));
  EXPECT_TRUE(x.grad().equal((dy.to(at::kFloat) * weights.unsqueeze(1)).to(at::kBFloat16)));
  const auto exact = (dy.to(at::kDouble) * x.to(at::kDouble)).sum(1);
  EXPECT_TRUE(close(weights.grad(), exact, 0x1p-24, 0));
}

}  // namespace
}  // namespace evenkeel
