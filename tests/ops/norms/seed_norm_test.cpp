// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/seed_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <optional>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"

// Rounded once, with all gradients, it stands in tests/nn/norm_numerics_test.cpp.
namespace evenkeel {
namespace {

using testing::close;
using testing::expect_equal_gradients;
using testing::message_of;
using testing::Tensors;

constexpr double kEpsilon = 0.01;

TEST(SeedNorm, IsItsFormula) {
  at::manual_seed(9);
  const auto x = at::randn({70, 300}, at::kDouble);  // two blocks of rows, two runs of a row
  const auto vector = [] { return at::randn({300}, at::kDouble); };
  const Tensors inputs = {x, vector(), 0.05 * vector(), vector(), vector()};
  const auto fused = [](const Tensors& in) {
    return Tensors{ops::seed_norm(in[0], in[1], in[2], in[3], in[4], kEpsilon)};
  };
  const auto formula = [](const Tensors& in) {
    const auto x_hat = ops::reference::rms_rows(in[0], kEpsilon);
    return Tensors{ops::reference::seed_rows(in[0], x_hat, in[1], in[2]) + in[3] * x_hat + in[4]};
  };
  EXPECT_TRUE(close(fused(inputs)[0], formula(inputs)[0], 1e-13, 1e-13));
  expect_equal_gradients(fused, formula, inputs, {at::randn_like(x)});
}

TEST(SeedNorm, MayHaveOneValueForAllAndNoGain) {
  at::manual_seed(9);
  const auto value = [](double of) { return at::full({1}, of, at::kDouble); };
  const Tensors inputs = {at::randn({70, 30}, at::kDouble), value(0.7), value(-0.1)};
  const auto fused = [](const Tensors& in) {
    return Tensors{ops::seed_norm(in[0], in[1], in[2], std::nullopt, std::nullopt, kEpsilon)};
  };
  const auto formula = [](const Tensors& in) {
    const auto x_hat = ops::reference::rms_rows(in[0], kEpsilon);
    return Tensors{ops::reference::seed_rows(in[0], x_hat, in[1], in[2]) + x_hat};
  };
  expect_equal_gradients(fused, formula, inputs, {at::randn({70, 30}, at::kDouble)});
}

TEST(SeedNorm, HasTheSameBitsForEveryNumberOfThreads) {
  const auto before = at::get_num_threads();
  Tensors found[2];
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    at::manual_seed(9);
    Tensors in = {at::randn({900, 30})};
    for (int i = 0; i < 4; ++i) in.push_back(at::randn({30}));
    for (auto& each : in) each.requires_grad_();
    const auto y = ops::seed_norm(in[0], in[1], in[2], in[3], in[4], kEpsilon);
    y.backward(at::randn({900, 30}));
    for (const auto& each : in) found[threads - 1].push_back(each.grad());
    found[threads - 1].push_back(y.detach());
  }
  at::set_num_threads(before);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(found[0][i].equal(found[1][i])) << i;
}

TEST(SeedNorm, IsRmsNormWhereBetaIsZero) {
  const auto x = at::randn({3, 40}, at::kDouble);
  const auto none = at::zeros({1}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto y = ops::seed_norm(x, one, none, std::nullopt, std::nullopt, kEpsilon);
  EXPECT_TRUE(close(y, ops::reference::rms_rows(x, kEpsilon), 1e-14, 1e-15));
}

TEST(SeedNorm, RejectsMismatchedArguments) {
  const auto x = at::zeros({2, 6});
  const auto said = [&](const at::Tensor& alpha, const at::Tensor& beta) {
    return message_of(
        [&] { ops::seed_norm(x, alpha, beta, std::nullopt, std::nullopt, kEpsilon); });
  };
  EXPECT_EQ(said(at::ones({5}), at::ones({6})),
            "[seed_norm] alpha must be [6] to fit x [2, 6], but is [5]");
  EXPECT_EQ(said(at::ones({6}), at::ones({4})),
            "[seed_norm] beta must be [6] to fit x [2, 6], but is [4]");
}

}  // namespace
}  // namespace evenkeel
