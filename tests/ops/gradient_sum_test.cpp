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

TEST(GradientSum, BeginsWithWhatIsInItsBuffer) {
  const GradientSum sum(at::full({2, 3}, 5.0));
  EXPECT_TRUE(sum.value().equal(at::full({2, 3}, 5.0)));
  sum.add_product(at::ones({4, 2}), at::ones({4, 3}));
  EXPECT_TRUE(sum.value().equal(at::full({2, 3}, 9.0)));
}

TEST(GradientSum, ForgetsWhatIsInItsBufferWhenItIsEmptied) {
  const GradientSum sum(at::full({2, 3}, kNothing));
  sum.empty();
  sum.add_product(at::ones({4, 2}), at::ones({4, 3}));
  sum.add_product(at::ones({4, 2}), at::ones({4, 3}));
  EXPECT_TRUE(sum.value().equal(at::full({2, 3}, 8.0)));
  sum.empty();
  EXPECT_TRUE(sum.value().equal(at::zeros({2, 3})));
}

TEST(GradientSum, LendsItsBufferToOneDraft) {
  const GradientSum sum(at::full({3}, kNothing));
  EXPECT_FALSE(sum.draft().gradient.is_same(sum.buffer())) << "what counts would be lost";
  sum.empty();
  const auto first = sum.draft(), second = sum.draft();
  EXPECT_TRUE(first.gradient.is_same(sum.buffer()));
  EXPECT_FALSE(second.gradient.is_same(sum.buffer()));
  first.gradient.fill_(2);
  second.gradient.fill_(3);
  sum.add(first, 0.5);
  sum.add(second, 2);
  EXPECT_TRUE(sum.value().equal(at::full({3}, 7.0)));
  EXPECT_NE(testing::message_of([&] { sum.add(first, 1); }).find("added already"),
            std::string::npos);
}

// The order of the two does not matter.
TEST(GradientSum, TakesADraftInMemoryOfItsOwnFirst) {
  const GradientSum sum(at::full({3}, kNothing));
  sum.empty();
  auto lost = sum.draft();
  const auto kept = sum.draft();
  lost = {};
  kept.gradient.fill_(3);
  sum.add(kept, 2);
  EXPECT_TRUE(sum.value().equal(at::full({3}, 6.0)));
}

TEST(GradientSum, OfADraftThatWasDroppedIsEmpty) {
  const GradientSum sum(at::full({3}, kNothing));
  sum.empty();
  sum.draft().gradient.fill_(1);
  EXPECT_TRUE(sum.value().equal(at::zeros({3})));
  sum.empty();
  EXPECT_TRUE(sum.draft().gradient.is_same(sum.buffer())) << "free again";
}

TEST(GradientSum, RefusesToLoseADraft) {
  const GradientSum sum(at::zeros({2, 3}));
  sum.empty();
  const auto draft = sum.draft();
  for (const auto& act : std::vector<std::function<void()>>{
           [&] { sum.value(); }, [&] { sum.add_product(at::ones({4, 2}), at::ones({4, 3})); }}) {
    EXPECT_NE(testing::message_of(act).find("between its loss and its backward pass"),
              std::string::npos);
  }
}

// Two parts of a batch, as the trainer has them; and a loss that nobody asks for its gradient.
TEST(GradientSum, OfAHeadIsItsGradient) {
  at::manual_seed(4);
  const ops::LogitsRule rule = {.vocabulary = 5};
  const auto weight = at::randn({7, 6}, at::kDouble).requires_grad_();
  const auto x = at::randn({9, 6}, at::kDouble).requires_grad_();
  const auto targets = at::randint(5, {9}, at::kLong);
  (ops::linear_cross_entropy(x, weight, targets, rule) * 0.3).backward();
  const GradientSum sum(at::full({7, 6}, kNothing, at::kDouble));
  sum.empty();
  ops::linear_cross_entropy(x, weight, targets, rule, sum);
  for (const auto& [first, count] : {std::pair(0, 4), std::pair(4, 5)}) {
    const auto part = x.detach().narrow(0, first, count).requires_grad_();
    (ops::linear_cross_entropy(part, weight, targets.narrow(0, first, count), rule, sum) * 0.3)
        .backward();
    EXPECT_TRUE(at::allclose(part.grad(), x.grad().narrow(0, first, count), 1e-13));
  }
  EXPECT_TRUE(at::allclose(sum.value(), weight.grad(), 1e-13, 1e-15));
}

}  // namespace
}  // namespace evenkeel
