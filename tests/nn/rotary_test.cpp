// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/rotary.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <cmath>

#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;

// (a, b) -> (a cos - b sin, b cos + a sin), angle = position * theta^(-2j/dk).
TEST(Rotary, RotatesHalvesOfAHeadAsPairs) {
  const auto rotary = nn::Rotary::of(/*first=*/3, /*positions=*/1, /*dk=*/4, 100, at::kDouble);
  const auto y = rotary(torch::tensor({1.0, 2.0, 3.0, 4.0}, at::kDouble).view({1, 1, 1, 4}));
  const double first = 3;
  const double second = 3 * std::pow(100.0, -0.5);
  const auto wanted = torch::tensor(
      {std::cos(first) - 3 * std::sin(first), 2 * std::cos(second) - 4 * std::sin(second),
       3 * std::cos(first) + std::sin(first), 4 * std::cos(second) + 2 * std::sin(second)},
      at::kDouble);
  EXPECT_TRUE(close(y.flatten(), wanted, 1e-12, 1e-14));
}

// A rotation is orthogonal, so <R dy, R x> = <dy, x>: the gradient of <c, R x> is R^T c.
TEST(Rotary, HasTheGradientOfARotation) {
  torch::manual_seed(1);
  const auto rotary = nn::Rotary::of(0, 5, 6, 10000, at::kDouble);
  auto x = torch::randn({2, 5, 3, 6}, at::kDouble).requires_grad_();
  const auto c = torch::randn({2, 5, 3, 6}, at::kDouble);
  const auto gradient = torch::autograd::grad({rotary(x)}, {x}, {c})[0];
  EXPECT_TRUE(close(rotary(gradient), c, 1e-12, 1e-13));
}

TEST(Rotary, MakesScoresDependOnDistanceOnly) {
  torch::manual_seed(1);
  const auto q = torch::randn({1, 1, 1, 8}, at::kDouble);
  const auto k = torch::randn({1, 1, 1, 8}, at::kDouble);
  const auto score = [&](std::int64_t i, std::int64_t j) {
    return (nn::Rotary::of(i, 1, 8, 50, at::kDouble)(q) *
            nn::Rotary::of(j, 1, 8, 50, at::kDouble)(k))
        .sum();
  };
  EXPECT_TRUE(close(score(9, 4), score(105, 100), 1e-11, 0));
}

}  // namespace
}  // namespace evenkeel
