// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/layer_norm.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::message_of;
using testing::Tensors;

class LayerNorm : public ::testing::Test {
 protected:
  LayerNorm() { at::manual_seed(0); }

  at::Tensor x = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor dy = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor gain = at::randn({5}, at::kDouble);
  at::Tensor bias = at::randn({5}, at::kDouble);
};

Tensors fused(const Tensors& in) {
  return {ops::layer_norm(in[0], in[1], in[2])};
}
Tensors formula(const Tensors& in) {
  return {ops::reference::layer_norm(in[0], in[1], in[2])};
}

// arXiv:1607.06450, eq. 4:  h = g / sigma * (a - mu) + b.
TEST_F(LayerNorm, CentresDividesAndAppliesGainAndBias) {
  const auto mean = x.mean(-1, /*keepdim=*/true);
  const auto deviation = (x - mean).square().mean(-1, /*keepdim=*/true).sqrt();
  EXPECT_TRUE(close(ops::layer_norm(x, gain, bias, /*epsilon=*/0),
                    gain / deviation * (x - mean) + bias, 1e-12, 1e-14));
}

// ibid., section 5.1:  re-scaling and re-centring of one case change nothing.
TEST_F(LayerNorm, IsInvariantToScaleAndShiftOfItsInput) {
  EXPECT_TRUE(close(ops::layer_norm(1e3 * x + 7, gain, bias, 0), ops::layer_norm(x, gain, bias, 0),
                    1e-11, 1e-13));
}

TEST_F(LayerNorm, TakesNoGainForOnesAndNoBiasForZeros) {
  const auto ones = at::ones({5}, at::kDouble);
  const auto zeros = at::zeros({5}, at::kDouble);
  EXPECT_TRUE(ops::layer_norm(x, std::nullopt, std::nullopt).equal(fused({x, ones, zeros})[0]));
  EXPECT_TRUE(ops::layer_norm(x, gain, std::nullopt).equal(fused({x, gain, zeros})[0]));
  EXPECT_TRUE(ops::layer_norm(x, std::nullopt, bias).equal(fused({x, ones, bias})[0]));

  const auto no_bias = [](const Tensors& in) {
    return Tensors{ops::layer_norm(in[0], in[1], std::nullopt)};
  };
  const auto wanted = testing::gradients(fused, {x, gain, zeros}, {dy});
  const auto got = testing::gradients(no_bias, {x, gain}, {dy});
  EXPECT_TRUE(got[0].equal(wanted[0]));
  EXPECT_TRUE(got[1].equal(wanted[1]));
}

TEST_F(LayerNorm, HasTheGradientOfItsFormula) {
  testing::expect_equal_gradients(fused, formula, {x, gain, bias}, {dy});
}

TEST_F(LayerNorm, HasTheGradientOfFiniteDifferences) {
  testing::expect_finite_differences(fused, {x, gain, bias}, {dy});
}

TEST_F(LayerNorm, RoundsLittleForBfloat16) {
  const auto rows = at::randn({64, 96}).to(at::kBFloat16);
  const auto up = at::randn({64, 96}).to(at::kBFloat16);
  const auto g = at::randn({96});
  const auto b = at::randn({96});
  const Tensors exact = {rows.to(at::kDouble), g.to(at::kDouble), b.to(at::kDouble)};
  EXPECT_TRUE(close(fused({rows, g, b})[0], formula(exact)[0], 0x1p-8 * 1.001, 8 * 0x1p-24));
  const auto got = testing::gradients(fused, {rows, g, b}, {up});
  const auto wanted = testing::gradients(formula, exact, {up.to(at::kDouble)});
  const auto size = [&](std::size_t i) {
    return 8 * 0x1p-24 * wanted[i].abs().max().item<double>();
  };
  EXPECT_TRUE(close(got[0], wanted[0], 0x1p-8 * 1.001, size(0)));
  EXPECT_TRUE(close(got[1], wanted[1], 0x1p-24, size(1)));
  EXPECT_TRUE(close(got[2], wanted[2], 0x1p-24 * 1.001, 1e-12));
}

TEST_F(LayerNorm, TakesNonContiguousInput) {
  const auto across = at::randn({5, 3, 2}, at::kDouble).permute({2, 1, 0});
  EXPECT_TRUE(fused({across, gain, bias})[0].equal(fused({across.contiguous(), gain, bias})[0]));
  const auto up = dy.transpose(0, 1).contiguous().transpose(0, 1);
  testing::expect_equal_gradients(fused, formula, {across, gain, bias}, {up});
}

TEST_F(LayerNorm, TakesEmptyInput) {
  const auto none = at::empty({0, 5}, at::kDouble);
  const auto got = testing::gradients(fused, {none, gain, bias}, {none});
  EXPECT_EQ(got[0].sizes(), none.sizes());
  EXPECT_TRUE(got[1].equal(at::zeros({5}, at::kDouble)));
  EXPECT_TRUE(got[2].equal(at::zeros({5}, at::kDouble)));
}

TEST_F(LayerNorm, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = at::get_num_threads();
  const Tensors in = {at::randn({1000, 96}), at::randn({96}), at::randn({96})};
  const auto up = at::randn({1000, 96});
  at::set_num_threads(1);
  const auto one = testing::gradients(fused, in, {up});
  at::set_num_threads(2);
  const auto two = testing::gradients(fused, in, {up});
  at::set_num_threads(threads_before);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(two[i])) << i;
}

TEST_F(LayerNorm, GivesShapesWithoutDataOnTheMetaDevice) {
  const auto y = fused({x.to(at::kMeta), gain.to(at::kMeta), bias.to(at::kMeta)})[0];
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.sizes(), x.sizes());
}

TEST_F(LayerNorm, RejectsMismatchedArguments) {
  EXPECT_EQ(message_of([&] { ops::layer_norm(x, at::ones({4}, at::kDouble), bias); }),
            "[layer_norm] gain must be [5] to fit x [2, 3, 5], but is [4]");
  EXPECT_EQ(message_of([&] { ops::layer_norm(x, gain, at::ones({5})); }),
            "[layer_norm] bias must be float64 on cpu beside x of float64, but is float32 on cpu");
}

}  // namespace
}  // namespace evenkeel
