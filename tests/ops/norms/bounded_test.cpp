// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/bounded.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <optional>

#include "ops/gradients.h"

// Rounded once, with all gradients, it stands in tests/nn/norm_numerics_test.cpp.
namespace evenkeel {
namespace {

using testing::close;
using testing::expect_equal_gradients;
using testing::message_of;
using testing::Tensors;

TEST(Bounded, IsItsFormula) {
  at::manual_seed(9);
  const auto x = 3 * at::randn({70, 300}, at::kDouble);  // two blocks of rows, two runs of a row
  const auto alpha = at::full({1}, 0.7, at::kDouble), shift = at::full({1}, -0.2, at::kDouble);
  const auto gain = at::randn({300}, at::kDouble), bias = at::randn({300}, at::kDouble);
  const Tensors inputs = {x, alpha, shift, gain, bias};
  for (const bool is_erf : {false, true}) {
    const auto fused = [=](const Tensors& in) {
      return Tensors{ops::bounded(in[0], in[1], in[2], in[3], in[4], is_erf)};
    };
    const auto formula = [=](const Tensors& in) {
      const auto u = in[1] * in[0] + in[2];
      return Tensors{in[3] * (is_erf ? at::erf(u) : at::tanh(u)) + in[4]};
    };
    EXPECT_TRUE(close(fused(inputs)[0], formula(inputs)[0], 1e-14, 1e-14));
    expect_equal_gradients(fused, formula, inputs, {at::randn_like(x)});
  }
  const auto bare = ops::bounded(x, alpha, std::nullopt, std::nullopt, std::nullopt, false);
  EXPECT_TRUE(close(bare, at::tanh(0.7 * x), 1e-14, 1e-15));
}

TEST(Bounded, RejectsMismatchedArguments) {
  const auto x = at::zeros({2, 6});
  const auto said = [&](const at::Tensor& alpha, const at::Tensor& gain) {
    return message_of([&] { ops::bounded(x, alpha, std::nullopt, gain, std::nullopt, false); });
  };
  EXPECT_EQ(said(at::ones({1}), at::ones({6})),
            "[bounded] alpha must be float64 [1] on cpu, D = 6, but is float32 [1] on cpu");
  EXPECT_EQ(said(at::ones({1}, at::kDouble), at::ones({5})),
            "[bounded] gain must be [6] to fit x [2, 6], but is [5]");
}

}  // namespace
}  // namespace evenkeel
