// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/cross_entropy.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;

at::Tensor expected_sum(const at::Tensor& logits, const at::Tensor& targets) {
  return at::nll_loss(at::log_softmax(logits, 1), targets, {}, at::Reduction::Sum, -1);
}

TEST(CrossEntropy, IsTheSumOfMinusLogProbabilitiesWithItsGradient) {
  torch::manual_seed(1);
  const auto values = torch::randn({7, 5}, at::kDouble);
  const auto targets = torch::tensor({0, 4, -1, 2, 2, -1, 3}, at::kLong);
  auto ours = values.clone().requires_grad_();
  auto theirs = values.clone().requires_grad_();

  const auto sum = nn::cross_entropy_sum(ours, targets);
  EXPECT_TRUE(close(sum, expected_sum(theirs, targets), 1e-12, 0));

  const auto gradient = torch::autograd::grad({sum * 0.3}, {ours});
  const auto wanted = torch::autograd::grad({expected_sum(theirs, targets) * 0.3}, {theirs});
  EXPECT_TRUE(close(gradient[0], wanted[0], 1e-12, 1e-14));
}

TEST(CrossEntropy, StaysFiniteForLogitsOfTenThousand) {
  const auto logits = torch::tensor({{1e4F, -1e4F, 0.0F}});
  EXPECT_TRUE(close(nn::cross_entropy_sum(logits, torch::tensor({1}, at::kLong)),
                    torch::tensor(2e4F), 1e-6, 0));
}

TEST(CrossEntropy, HasTheSameBitsForAnyNumberOfThreads) {
  torch::manual_seed(2);
  const auto logits = torch::randn({70000, 8});
  const auto targets = torch::randint(8, {70000}, at::kLong);
  const auto sum = [&](int threads) {
    at::set_num_threads(threads);
    return nn::cross_entropy_sum(logits, targets);
  };
  EXPECT_TRUE(sum(1).equal(sum(2)));
}

}  // namespace
}  // namespace evenkeel
