// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/weight_gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

struct GradientCase {
  std::int64_t rows, columns, tokens;
};

const std::vector<GradientCase> kCases = {
    {1, 1, 1}, {3, 5, 7}, {48, 32, 100}, {64, 80, 4096}, {1100, 640, 300}};

TEST(WeightGradient, AddsTheProduct) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const auto& [rows, columns, tokens] : kCases) {
      at::manual_seed(1);
      const auto dy = at::randn({tokens, rows}, at::kDouble).to(type);
      const auto x = at::randn({tokens, columns}, at::kDouble).to(type);
      const auto wide = type == at::kBFloat16 ? at::kFloat : type;
      const auto sum = at::full({rows, columns}, 2, wide);
      ops::add_weight_gradient(sum, dy, x);
      const auto exact = 2 + dy.to(at::kDouble).t().mm(x.to(at::kDouble));
      const double tolerance = type == at::kDouble ? 1e-13 : 1e-5;
      EXPECT_TRUE(testing::close(sum.to(at::kDouble), exact, tolerance,
                                 tolerance * exact.abs().max().item<double>()))
          << rows << " x " << columns << " of " << tokens;
    }
  }
}

// NaN too: it is not read.
TEST(WeightGradient, OverwritesWhenFirst) {
  for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const auto& [rows, columns, tokens] :
         {GradientCase{3, 5, 7}, GradientCase{64, 80, 100}, GradientCase{2, 2, 0},
          GradientCase{1100, 640, 300}}) {
      const auto dy = at::randn({tokens, rows}, at::kDouble).to(type);
      const auto x = at::randn({tokens, columns}, at::kDouble).to(type);
      const auto wide = type == at::kBFloat16 ? at::kFloat : type;
      const auto sum = at::full({rows, columns}, std::numeric_limits<double>::quiet_NaN(), wide);
      const auto zeros = at::zeros({rows, columns}, wide);
      ops::add_weight_gradient(sum, dy, x, /*is_first=*/true);
      ops::add_weight_gradient(zeros, dy, x);
      EXPECT_TRUE(sum.equal(zeros)) << rows << " x " << columns << " of " << tokens;
    }
  }
}

// Rows of a wider tensor; and columns of it, which lie apart.
TEST(WeightGradient, TakesViewsOfTensors) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto all = at::randn({100, 96}).to(type);
    const auto dy = all.narrow(1, 8, 48), x = all.narrow(1, 60, 32);
    const auto sum = at::zeros({48, 64}), straight = at::zeros({48, 32});
    ops::add_weight_gradient(sum.narrow(1, 32, 32), dy, x);
    ops::add_weight_gradient(straight, dy.contiguous(), x.contiguous());
    EXPECT_TRUE(testing::close(sum.narrow(1, 32, 32), straight, 1e-5, 1e-5));
    EXPECT_EQ(sum.narrow(1, 0, 32).abs().max().item<float>(), 0);
    const auto turned = all.t().contiguous().t();
    const auto other = at::zeros({48, 32});
    ops::add_weight_gradient(other, turned.narrow(1, 8, 48), turned.narrow(1, 60, 32));
    EXPECT_TRUE(testing::close(other, straight, 1e-5, 1e-5));
  }
}

// Rows that are one row in memory, as sums hand them back.
TEST(WeightGradient, TakesExpandedRows) {
  const auto x = at::randn({64, 32}).to(at::kBFloat16);
  const auto one = at::randn({48}).to(at::kBFloat16);
  for (const auto& dy : {one.expand({64, 48}), one.narrow(0, 0, 1).expand({64, 1})}) {
    const auto sum = at::zeros({dy.size(1), 32}), straight = at::zeros_like(sum);
    ops::add_weight_gradient(sum, dy, x);
    ops::add_weight_gradient(straight, dy.contiguous(), x);
    EXPECT_TRUE(sum.equal(straight));
  }
}

}  // namespace
}  // namespace evenkeel
