// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/embedding.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;

/// The gradient of sum(dy * embedding(weight, ids)) for a weight [rows, D] of dy's dtype.
at::Tensor gradient_of(const at::Tensor& dy, const at::Tensor& ids, std::int64_t rows) {
  const auto weight = torch::zeros({rows, dy.size(-1)}, dy.options()).requires_grad_();
  return torch::autograd::grad({nn::embedding(weight, ids)}, {weight}, {dy})[0];
}

TEST(Embedding, TakesRowsAndAddsTheirGradients) {
  torch::manual_seed(1);
  const auto ids = torch::tensor({{4, 0, 4}, {2, 4, 0}}, at::kLong);
  const auto weight = torch::randn({6, 300}, at::kDouble).requires_grad_();
  const auto dy = torch::randn({2, 3, 300}, at::kDouble);
  EXPECT_TRUE(nn::embedding(weight, ids).equal(at::embedding(weight, ids)));
  const auto wanted = torch::autograd::grad({at::embedding(weight, ids)}, {weight}, {dy})[0];
  EXPECT_TRUE(close(gradient_of(dy, ids, 6), wanted, 1e-12, 1e-14));
  const auto turned = dy.transpose(0, 1).contiguous().transpose(0, 1);
  EXPECT_TRUE(gradient_of(turned, ids, 6).equal(gradient_of(dy, ids, 6))) << "non-contiguous";
}

// Added row by row in bfloat16, ones stay at 256: 256 + 1 is a tie, which goes to the even 256.
TEST(Embedding, CountsTwoThousandTokensInBfloat16) {
  const auto ones = torch::ones({2048, 8}, at::kBFloat16);
  const auto gradient = gradient_of(ones, torch::full({2048}, 3, at::kLong), 5);
  EXPECT_TRUE(gradient[3].equal(torch::full({8}, 2048, at::kBFloat16)));
  EXPECT_EQ(gradient.sum().item<double>(), 8 * 2048) << "zero elsewhere";
}

TEST(Embedding, RoundsTheFloat32GradientOnceToBfloat16) {
  torch::manual_seed(2);
  const auto ids =
      at::cat({torch::full({2048}, 3, at::kLong), torch::randint(320, {512}, at::kLong)});
  const auto dy = torch::randn({2560, 128}).to(at::kBFloat16);
  const auto wide = gradient_of(dy.to(at::kFloat), ids, 320);
  EXPECT_TRUE(gradient_of(dy, ids, 320).equal(wide.to(at::kBFloat16)));
  // 2,048 roundings of 2^-24 of sums that reach about 150
  EXPECT_TRUE(close(wide, gradient_of(dy.to(at::kDouble), ids, 320), 0, 2e-2 * 0x1p-8));
}

// What is there already counts, and rows of other ids stay.
TEST(Embedding, AddsToASumOfGradients) {
  torch::manual_seed(4);
  const auto ids = torch::tensor({4, 0, 4}, at::kLong);
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto dy = torch::randn({3, 300}).to(dtype);
    const auto wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
    const ops::GradientBuffer sum(torch::empty({6, 300}, wide));
    sum.accumulate(torch::ones({6, 300}, wide));
    const auto weight = torch::zeros({6, 300}, dtype).requires_grad_();
    nn::embedding({weight, sum}, ids).backward(dy);
    EXPECT_FALSE(weight.grad().defined());
    const auto wanted = 1 + gradient_of(dy.to(wide), ids, 6);
    EXPECT_TRUE(close(sum.value(), wanted, 0, 1e-6));
  }
}

TEST(Embedding, HasTheSameBitsForAnyNumberOfThreads) {
  torch::manual_seed(3);
  const auto ids = torch::randint(50, {4096}, at::kLong);
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto dy = torch::randn({4096, 96}).to(dtype);
    const auto gradient = [&](int threads) {
      at::set_num_threads(threads);
      return gradient_of(dy, ids, 64);
    };
    EXPECT_TRUE(gradient(1).equal(gradient(2))) << dtype;
  }
}

}  // namespace
}  // namespace evenkeel
