// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/seed_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"

// tests/nn/norm_numerics_test.cpp compares it with long double.
namespace evenkeel {
namespace {

using testing::close;
using testing::expect_equal_gradients;
using testing::Tensors;

constexpr double kSeedEpsilon = 0.01;

TEST(SeedNorm, MayHaveOneValueForAllAndNoGain) {
  at::manual_seed(9);
  const auto value = [](double of) { return at::full({1}, of, at::kDouble); };
  const Tensors inputs = {at::randn({70, 30}, at::kDouble), value(0.7), value(-0.1)};
  const auto fused = [](const Tensors& in) {
    return Tensors{ops::seed_norm(in[0], in[1], in[2], std::nullopt, std::nullopt, kSeedEpsilon)};
  };
  const auto formula = [](const Tensors& in) {
    const auto x_hat = ops::reference::rms_rows(in[0], kSeedEpsilon);
    return Tensors{ops::reference::seed_rows(in[0], x_hat, in[1], in[2]) + x_hat};
  };
  expect_equal_gradients(fused, formula, inputs, {at::randn({70, 30}, at::kDouble)});
}

TEST(SeedNorm, IsRmsNormWhereBetaIsZero) {
  const auto x = at::randn({3, 40}, at::kDouble);
  const auto none = at::zeros({1}, at::kDouble), one = at::ones({1}, at::kDouble);
  const auto y = ops::seed_norm(x, one, none, std::nullopt, std::nullopt, kSeedEpsilon);
  EXPECT_TRUE(close(y, ops::reference::rms_rows(x, kSeedEpsilon), 1e-14, 1e-15));
}

}  // namespace
}  // namespace evenkeel
