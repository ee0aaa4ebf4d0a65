// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/gradient_sum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "evenkeel/ops/linear_cross_entropy.h"
#include "ops/gradients.h"

namespace evenkeel {
namespace {

using ops::GradientSum;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

GradientSum empty_sum(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return GradientSum(at::full(sizes, kNothing, type));
}

TEST(GradientSum, DoesNotCountWhatItsMemoryHeld) {
  const auto sum = empty_sum({2, 3});
  const auto dy = at::ones({4, 2}), x = at::ones({4, 3});
  EXPECT_TRUE(sum.value().equal(at::zeros({2, 3})));
  sum.forget();
  sum.add_product(dy, x);
  sum.add_product(dy, x);
  sum.add(at::ones({2, 3}));
  EXPECT_TRUE(sum.value().equal(at::full({2, 3}, 9.0)));
  sum.forget();
  sum.add(at::ones({2, 3}));
  EXPECT_TRUE(sum.value().equal(at::ones({2, 3})));
}

TEST(GradientSum, HasItsFirstDraftInItsOwnMemory) {
  const auto memory = at::zeros({3});
  const GradientSum sum(memory);
  const auto first = sum.draft(), second = sum.draft();
  EXPECT_TRUE(first->is_alias_of(memory));
  EXPECT_FALSE(second->is_alias_of(memory));
}

// Two losses before a backward pass, in either order.
TEST(GradientSum, LosesNoDraftToAnother) {
  for (const bool first_goes_first : {true, false}) {
    const auto sum = empty_sum({3}, at::kDouble);
    const auto first = sum.draft(), second = sum.draft();
    first->fill_(2);
    second->fill_(3);
    sum.add(first_goes_first ? first : second, 0.1);
    sum.add(first_goes_first ? second : first, 0.1);
    EXPECT_TRUE(at::allclose(sum.value(), at::full({3}, 0.5, at::kDouble), 1e-15));
  }
}

// A product or a reader that wants the memory between a loss and its backward pass.
TEST(GradientSum, MovesADraftOutOfTheWay) {
  for (const bool is_read : {true, false}) {
    const auto sum = empty_sum({2, 3});
    const auto draft = sum.draft();
    draft->fill_(2);
    if (is_read) {
      EXPECT_TRUE(sum.value().equal(at::zeros({2, 3})));
    } else {
      sum.add_product(at::ones({4, 2}), at::ones({4, 3}));
    }
    sum.add(draft, 0.5);
    EXPECT_TRUE(sum.value().equal(at::full({2, 3}, is_read ? 1.0 : 5.0)));
  }
}

TEST(GradientSum, IsNotChangedByADraftThatWasDropped) {
  const auto sum = empty_sum({3});
  sum.draft()->fill_(1);
  EXPECT_TRUE(sum.value().equal(at::zeros({3})));
}

// As by backward() of a retained graph; also when the sum was begun anew meanwhile.
TEST(GradientSum, TakesADraftOnce) {
  const auto sum = empty_sum({3});
  const auto draft = sum.draft();
  draft->fill_(1);
  sum.add(draft, 1);
  for (int time = 0; time < 2; ++time) {
    EXPECT_NE(testing::message_of([&] { sum.add(draft, 1); }).find("added already"),
              std::string::npos);
    sum.forget();
  }
}

// Two parts of a batch, as the trainer has them, and both losses at once; after a loss that nobody
// asks for its gradient.
TEST(GradientSum, OfAHeadIsItsGradient) {
  at::manual_seed(4);
  const ops::LogitsRule rule = {.vocabulary = 5};
  const auto weight = at::randn({7, 6}, at::kDouble).requires_grad_();
  const auto x = at::randn({9, 6}, at::kDouble).requires_grad_();
  const auto targets = at::randint(5, {9}, at::kLong);
  (ops::linear_cross_entropy(x, weight, targets, rule) * 0.3).backward();
  for (const bool at_once : {false, true}) {
    const auto sum = empty_sum({7, 6}, at::kDouble);
    ops::linear_cross_entropy(x, weight, targets, rule, sum);
    auto both = at::zeros({}, at::kDouble);
    for (const auto& [first, count] : {std::pair(0, 4), std::pair(4, 5)}) {
      const auto part = x.detach().narrow(0, first, count).requires_grad_();
      const auto wanted = targets.narrow(0, first, count);
      const auto loss = ops::linear_cross_entropy(part, weight, wanted, rule, sum) * 0.3;
      if (at_once) {
        both = both + loss;
        continue;
      }
      loss.backward();
      EXPECT_TRUE(at::allclose(part.grad(), x.grad().narrow(0, first, count), 1e-13));
    }
    if (at_once) both.backward();
    EXPECT_TRUE(at::allclose(sum.value(), weight.grad(), 1e-13, 1e-15)) << at_once;
  }
}

TEST(GradientSum, OfAHeadHasItsShape) {
  const auto weight = at::randn({7, 6}).requires_grad_();
  const auto message = testing::message_of([&] {
    ops::linear_cross_entropy(at::randn({2, 6}), weight, at::zeros({2}, at::kLong),
                              {.vocabulary = 5}, empty_sum({8, 6}));
  });
  EXPECT_NE(message.find("the gradient of weight must be [7, 6] of float32"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace evenkeel
