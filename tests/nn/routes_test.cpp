// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/routes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <limits>

#include "evenkeel/nn/grouped_linear.h"
#include "support/close.h"
#include "support/lists.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::List;
using testing::list_of;

TEST(Routes, AreSortedByExpertAndInTheOrderOfTokens) {
  const auto scores = at::tensor({0.1, 0.7, 0.2,  //
                                  0.5, 0.1, 0.4,  //
                                  0.3, 0.6, 0.1})
                          .to(at::kDouble)
                          .view({3, 3});
  const auto routes = nn::routes_of(scores, 2);
  EXPECT_EQ(list_of(routes.chosen), List({1, 2, 0, 2, 1, 0}));
  EXPECT_EQ(list_of(routes.starts), List({0, 2, 4, 6}));
  EXPECT_EQ(list_of(routes.counts()), List({2, 2, 2}));
  EXPECT_EQ(list_of(routes.token), List({1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(list_of(routes.order), List({2, 5, 0, 4, 1, 3}));
  EXPECT_EQ(list_of(routes.place), List({2, 4, 0, 5, 3, 1}));
}

TEST(Routes, TakeTheLowerIndexOfEqualScores) {
  EXPECT_EQ(list_of(nn::routes_of(at::ones({2, 4}), 3).chosen), List({0, 1, 2, 0, 1, 2}));
  const auto two = at::tensor({0.1F, 0.4F, 0.1F, 0.4F}).view({1, 4});
  EXPECT_EQ(list_of(nn::routes_of(two, 3).chosen), List({1, 3, 0}));
}

TEST(Routes, AreSomeExpertsWhateverTheScores) {
  const auto nan = at::full({2, 3}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  EXPECT_EQ(list_of(nn::routes_of(nan, 2).chosen), List({0, 1, 0, 1}));
}

TEST(Routes, BringEachRowBackToItsToken) {
  const auto x = at::arange(12, at::kDouble).view({4, 3});
  const auto routes = nn::routes_of(at::rand({4, 6}), 3);
  EXPECT_TRUE(nn::brought_back(nn::sent(x, routes), routes).equal(3 * x));
  EXPECT_TRUE(nn::sent(x, routes).equal(x.index_select(0, routes.token)));
}

/// Groups of different sizes, one of them empty.
struct Groups {
  at::Tensor x = at::randn({700, 24}, at::kDouble).requires_grad_();
  at::Tensor weight = at::randn({4, 40, 24}, at::kDouble).requires_grad_();
  at::Tensor starts = at::tensor({0L, 600L, 600L, 601L, 700L}, at::kLong);
};

TEST(GroupedLinear, MultipliesEachGroupWithItsMatrix) {
  const Groups groups;
  const auto dy = at::randn({700, 40}, at::kDouble);
  std::vector<at::Tensor> parts;
  for (std::int64_t e = 0; e < 4; ++e) {
    const auto first = groups.starts[e].item<std::int64_t>();
    const auto last = groups.starts[e + 1].item<std::int64_t>();
    parts.push_back(at::linear(groups.x.narrow(0, first, last - first), groups.weight[e]));
  }
  const auto expected = at::cat(parts);
  expected.backward(dy);
  const auto dx = groups.x.grad().clone(), dw = groups.weight.grad().clone();
  groups.x.mutable_grad() = groups.weight.mutable_grad() = at::Tensor();
  const auto y = nn::grouped_linear(groups.x, groups.weight, groups.starts);
  y.backward(dy);
  EXPECT_TRUE(close(y, expected, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.x.grad(), dx, 1e-13, 1e-12));
  EXPECT_TRUE(close(groups.weight.grad(), dw, 1e-12, 1e-11));
  EXPECT_FALSE(groups.weight.grad()[1].any().item<bool>());
}

}  // namespace
}  // namespace evenkeel
