// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/linear_cross_entropy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using ops::LogitsOptions;
using testing::close;
using testing::Tensors;

/// The same in plain operations, in the dtype of x.
at::Tensor formula(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& targets,
                   const LogitsOptions& rule) {
  auto logits = at::linear(x, weight.narrow(0, 0, rule.vocabulary)) * rule.scale;
  if (rule.softcap) logits = at::tanh(logits / *rule.softcap) * *rule.softcap;
  return ops::reference::cross_entropy_sum(logits, targets) +
         rule.z_loss * ops::reference::squared_lse_sum(logits, targets);
}

class LinearCrossEntropy : public ::testing::Test {
 protected:
  LinearCrossEntropy() { at::manual_seed(0); }

  at::Tensor x = at::randn({7, 6}, at::kDouble);
  at::Tensor weight = at::randn({13, 6}, at::kDouble);  // the last three rows are padding
  at::Tensor targets = torch::tensor({0, 9, -1, 2, 2, -1, 3}, at::kLong);
  std::vector<LogitsOptions> rules = {{.vocabulary = 10},
                                      {.vocabulary = 10, .scale = 0.3},
                                      {.vocabulary = 10, .softcap = 2.0},
                                      {.vocabulary = 13, .scale = 3, .softcap = 1.5}};
};

// More tokens than a chunk holds, in every precision.
TEST_F(LinearCrossEntropy, AddsUpItsChunks) {
  constexpr std::int64_t kTokens = 9000;
  const auto ids = at::randint(10, {kTokens}, at::kLong);
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto rows = at::randn({kTokens, 6}).to(dtype), head = weight.to(dtype);
    const auto fused = [&](const Tensors& in) {
      return Tensors{ops::linear_cross_entropy(in[0], in[1], ids, rules[0])};
    };
    const auto plain = [&](const Tensors& in) {
      return Tensors{formula(in[0], in[1], ids, rules[0])};
    };
    const Tensors wide = {rows.to(at::kDouble), head.to(at::kDouble)};
    const double unit = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : 2e-2;
    const auto loss = fused({rows, head})[0];
    EXPECT_EQ(loss.scalar_type(), dtype == at::kDouble ? at::kDouble : at::kFloat);
    EXPECT_TRUE(close(loss.to(at::kDouble), plain(wide)[0], unit, 0));
    const auto one = at::ones({}, loss.options());
    const auto actual = testing::gradients(fused, {rows, head}, {one});
    const auto expected = testing::gradients(plain, wide, {one.to(at::kDouble)});
    for (std::size_t i = 0; i < 2; ++i) {
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_TRUE(close(actual[i].to(at::kDouble), expected[i], unit, unit * largest)) << i;
    }
  }
}

// -ln p + c lse^2 of all tokens; both sums come without a gradient.
TEST_F(LinearCrossEntropy, ReportsThePartsOfItsTotal) {
  for (auto rule : rules) {
    const auto plain = ops::linear_cross_entropy(x, weight, targets, rule);
    rule.z_loss = 0.3;
    const auto leaf = x.clone().requires_grad_();
    const auto sums = ops::linear_cross_entropy_sums(leaf, weight, targets, rule);
    EXPECT_TRUE(sums.cross_entropy.equal(plain));
    EXPECT_TRUE(close(sums.total, sums.cross_entropy + 0.3 * sums.squared_lse, 1e-14, 0));
    EXPECT_TRUE(close(sums.total, formula(x, weight, targets, rule), 1e-13, 0));
    EXPECT_TRUE(sums.total.requires_grad());
    EXPECT_FALSE(sums.cross_entropy.requires_grad() || sums.squared_lse.requires_grad());
  }
}

TEST_F(LinearCrossEntropy, StaysFiniteForLogitsOfTenThousand) {
  const auto one = torch::tensor({{1.0F}});
  const auto words = torch::tensor({{1e4F}, {-1e4F}, {0.0F}});
  EXPECT_TRUE(
      close(ops::linear_cross_entropy(one, words, torch::tensor({1}, at::kLong), {.vocabulary = 3}),
            torch::tensor(2e4F), 1e-6, 0));
}

}  // namespace
}  // namespace evenkeel
