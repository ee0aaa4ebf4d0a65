// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/adamw.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using ops::AdamwBuffers;
using testing::close;

constexpr ops::AdamwStep kStep{.lr = 0.01,
                               .beta1 = 0.9,
                               .beta2 = 0.95,
                               .epsilon = 1e-8,
                               .weight_decay = 0.1,
                               .gradient_scale = 0.5,
                               .step = 3};

class Adamw : public ::testing::Test {
 protected:
  Adamw() { at::manual_seed(0); }

  static AdamwBuffers random(std::int64_t count, at::ScalarType weight, at::ScalarType gradient) {
    return {.weight = at::randn({count}, weight),
            .first = at::randn({count}, weight),
            .second = at::rand({count}, weight),
            .gradient = at::randn({count}).to(gradient),
            .copy = at::empty({count}, at::kBFloat16)};
  }

  static AdamwBuffers wide(const AdamwBuffers& of) {
    return {.weight = of.weight.to(at::kDouble, false, true),
            .first = of.first.to(at::kDouble, false, true),
            .second = of.second.to(at::kDouble, false, true),
            .gradient = of.gradient.to(at::kDouble, false, true),
            .copy = at::empty_like(*of.copy)};
  }
};

TEST_F(Adamw, FollowsItsFormula) {
  for (const auto gradient : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto buffers = random(10'000, at::kDouble, gradient);
    const auto expected = wide(buffers);
    for (auto step = kStep; step.step < 6; ++step.step) {
      ops::adamw_(buffers, step);
      ops::reference::adamw_(expected, step);
    }
    EXPECT_TRUE(close(buffers.weight, expected.weight, 1e-12, 1e-12));
    EXPECT_TRUE(close(buffers.first, expected.first, 1e-12, 1e-12));
    EXPECT_TRUE(close(buffers.second, expected.second, 1e-12, 1e-12));
  }
}

TEST_F(Adamw, FollowsItsFormulaInFloat) {
  for (const auto gradient : {at::kDouble, at::kFloat, at::kBFloat16}) {
    const auto buffers = random(10'000, at::kFloat, gradient);
    const auto expected = wide(buffers);
    ops::adamw_(buffers, kStep);
    ops::reference::adamw_(expected, kStep);
    EXPECT_TRUE(close(buffers.weight, expected.weight, 1e-6, 1e-6));
    EXPECT_TRUE(close(buffers.first, expected.first, 1e-6, 1e-6));
    EXPECT_TRUE(close(buffers.second, expected.second, 1e-6, 1e-6));
  }
}

// arXiv:1711.05101, algorithm 2, by hand: from zero moments the first step is lr * sign(g).
TEST_F(Adamw, MovesByTheLearningRateInTheFirstStep) {
  const AdamwBuffers buffers{.weight = at::full({2}, 1.0, at::kDouble),
                             .first = at::zeros({2}, at::kDouble),
                             .second = at::zeros({2}, at::kDouble),
                             .gradient = at::tensor({4.0, -4.0}, at::kDouble),
                             .copy = std::nullopt};
  ops::adamw_(buffers, {.lr = 0.01, .epsilon = 0, .weight_decay = 0.5, .step = 1});
  const auto expected = at::tensor({0.995 - 0.01, 0.995 + 0.01}, at::kDouble);
  EXPECT_TRUE(close(buffers.weight, expected, 1e-12, 0));
}

TEST_F(Adamw, CopiesTheWeightRoundedToBfloat16) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto buffers = random(10'000, dtype, at::kBFloat16);
    ops::adamw_(buffers, kStep);
    EXPECT_TRUE(buffers.copy->equal(buffers.weight.to(at::kBFloat16)));
  }
}

TEST_F(Adamw, TakesOverOnlyTheCopiesThatAreNotTheRoundedWeight) {
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    const auto buffers = random(10'000, dtype, at::kBFloat16);
    buffers.copy->copy_(buffers.weight);
    auto expected = wide(buffers);
    buffers.copy->slice(0, 0, 10'000, 3).fill_(8);
    expected.weight.slice(0, 0, 10'000, 3).fill_(8);
    auto step = kStep;
    step.take_over = true;
    ops::adamw_(buffers, step);
    ops::reference::adamw_(expected, kStep);
    EXPECT_TRUE(close(buffers.weight, expected.weight, 1e-6, 1e-6));
    EXPECT_TRUE(buffers.copy->equal(buffers.weight.to(at::kBFloat16)));
  }
}

// A bfloat16 gain of 1 would stay at 1: its neighbours are 0.004 away.
TEST_F(Adamw, MovesAGainByOneInAThousandUpdatesOfAThousandth) {
  const AdamwBuffers buffers{.weight = at::ones({70}),
                             .first = at::zeros({70}),
                             .second = at::zeros({70}),
                             .gradient = at::full({70}, 1.0, at::kBFloat16),
                             .copy = at::empty({70}, at::kBFloat16)};
  for (std::int64_t step = 1; step <= 1000; ++step) {
    ops::adamw_(buffers, {.lr = 1e-3, .weight_decay = 0, .step = step});
  }
  EXPECT_TRUE(close(buffers.weight, at::zeros({70}), 0, 1e-3));
}

TEST_F(Adamw, UpdatesLeavesThatRequireGrad) {
  auto buffers = random(3, at::kFloat, at::kFloat);
  const auto before = buffers.weight.clone();
  buffers.weight.requires_grad_();
  ops::adamw_(buffers, kStep);
  EXPECT_FALSE(buffers.weight.equal(before));
}

}  // namespace
}  // namespace evenkeel
