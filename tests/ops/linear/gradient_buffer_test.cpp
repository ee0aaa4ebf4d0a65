// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/gradient_buffer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "evenkeel/ops/linear/linear_cross_entropy.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using ops::GradientBuffer;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

GradientBuffer empty_buffer(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return GradientBuffer(at::full(sizes, kNothing, type));
}

TEST(GradientBuffer, IgnoresUninitializedMemory) {
  const auto buffer = empty_buffer({2, 3});
  const auto dy = at::ones({4, 2}), x = at::ones({4, 3});
  EXPECT_TRUE(buffer.value().equal(at::zeros({2, 3})));
  buffer.reset();
  buffer.accumulate_weight_gradient(dy, x);
  buffer.accumulate_weight_gradient(dy, x);
  buffer.accumulate(at::ones({2, 3}));
  EXPECT_TRUE(buffer.value().equal(at::full({2, 3}, 9.0)));
  buffer.reset();
  buffer.accumulate(at::ones({2, 3}));
  EXPECT_TRUE(buffer.value().equal(at::ones({2, 3})));
}

TEST(GradientBuffer, HoldsTheFirstPendingGradientInItsOwnMemory) {
  const auto memory = at::zeros({3});
  const GradientBuffer buffer(memory);
  const auto first = buffer.pending_gradient(), second = buffer.pending_gradient();
  EXPECT_TRUE(first->is_alias_of(memory));
  EXPECT_FALSE(second->is_alias_of(memory));
}

// Two losses before a backward pass, in either order.
TEST(GradientBuffer, AddsTwoPendingGradientsInAnyOrder) {
  for (const bool first_goes_first : {true, false}) {
    const auto buffer = empty_buffer({3}, at::kDouble);
    const auto first = buffer.pending_gradient(), second = buffer.pending_gradient();
    first->fill_(2);
    second->fill_(3);
    buffer.accumulate(first_goes_first ? first : second, 0.1);
    buffer.accumulate(first_goes_first ? second : first, 0.1);
    EXPECT_TRUE(at::allclose(buffer.value(), at::full({3}, 0.5, at::kDouble), 1e-15));
  }
}

// A product or a reader that wants the memory between a loss and its backward pass.
TEST(GradientBuffer, MovesAPendingGradientWhenItsMemoryIsNeeded) {
  for (const bool is_read : {true, false}) {
    const auto buffer = empty_buffer({2, 3});
    const auto pending = buffer.pending_gradient();
    pending->fill_(2);
    if (is_read) {
      EXPECT_TRUE(buffer.value().equal(at::zeros({2, 3})));
    } else {
      buffer.accumulate_weight_gradient(at::ones({4, 2}), at::ones({4, 3}));
    }
    buffer.accumulate(pending, 0.5);
    EXPECT_TRUE(buffer.value().equal(at::full({2, 3}, is_read ? 1.0 : 5.0)));
  }
}

TEST(GradientBuffer, IgnoresADroppedPendingGradient) {
  const auto buffer = empty_buffer({3});
  buffer.pending_gradient()->fill_(1);
  EXPECT_TRUE(buffer.value().equal(at::zeros({3})));
}

// As by backward() of a retained graph; also when the sum was begun anew meanwhile.
TEST(GradientBuffer, AddsAPendingGradientOnce) {
  const auto buffer = empty_buffer({3});
  const auto pending = buffer.pending_gradient();
  pending->fill_(1);
  buffer.accumulate(pending, 1);
  for (int time = 0; time < 2; ++time) {
    EXPECT_NE(testing::message_of([&] { buffer.accumulate(pending, 1); }).find("added already"),
              std::string::npos);
    buffer.reset();
  }
}

// Two parts of a batch, as the trainer has them, and both losses at once; after a loss that nobody
// asks for its gradient.
TEST(GradientBuffer, OfLinearCrossEntropyIsItsWeightGradient) {
  at::manual_seed(4);
  const ops::LogitsOptions rule = {.vocabulary = 5, .z_loss = 0.2};
  const auto weight = at::randn({7, 6}, at::kDouble).requires_grad_();
  const auto x = at::randn({9, 6}, at::kDouble).requires_grad_();
  const auto targets = at::randint(5, {9}, at::kLong);
  (ops::linear_cross_entropy(x, weight, targets, rule) * 0.3).backward();
  for (const bool at_once : {false, true}) {
    const auto buffer = empty_buffer({7, 6}, at::kDouble);
    ops::linear_cross_entropy(x, weight, targets, rule, buffer);
    auto both = at::zeros({}, at::kDouble);
    for (const auto& [first, count] : {std::pair(0, 4), std::pair(4, 5)}) {
      const auto part = x.detach().narrow(0, first, count).requires_grad_();
      const auto wanted = targets.narrow(0, first, count);
      const auto loss = ops::linear_cross_entropy(part, weight, wanted, rule, buffer) * 0.3;
      if (at_once) {
        both = both + loss;
        continue;
      }
      loss.backward();
      EXPECT_TRUE(at::allclose(part.grad(), x.grad().narrow(0, first, count), 1e-13));
    }
    if (at_once) both.backward();
    EXPECT_TRUE(at::allclose(buffer.value(), weight.grad(), 1e-13, 1e-15)) << at_once;
  }
}

TEST(GradientBuffer, OfLinearCrossEntropyHasTheShapeOfTheWeight) {
  const auto weight = at::randn({7, 6}).requires_grad_();
  const auto message = testing::message_of([&] {
    ops::linear_cross_entropy(at::randn({2, 6}), weight, at::zeros({2}, at::kLong),
                              {.vocabulary = 5}, empty_buffer({8, 6}));
  });
  EXPECT_NE(message.find("the gradient of weight must be [7, 6] of float32"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace evenkeel
