// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/layer_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::Tensors;

class LayerNorm : public ::testing::Test {
 protected:
  LayerNorm() { at::manual_seed(0); }

  at::Tensor x = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor dy = at::randn({2, 3, 5}, at::kDouble);
  at::Tensor gain = at::randn({5}, at::kDouble);
  at::Tensor bias = at::randn({5}, at::kDouble);
};

Tensors fused_layer_norm(const Tensors& in) {
  return {ops::layer_norm(in[0], in[1], in[2])};
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
  EXPECT_TRUE(
      ops::layer_norm(x, std::nullopt, std::nullopt).equal(fused_layer_norm({x, ones, zeros})[0]));
  EXPECT_TRUE(ops::layer_norm(x, gain, std::nullopt).equal(fused_layer_norm({x, gain, zeros})[0]));
  EXPECT_TRUE(ops::layer_norm(x, std::nullopt, bias).equal(fused_layer_norm({x, ones, bias})[0]));

  const auto no_bias = [](const Tensors& in) {
    return Tensors{ops::layer_norm(in[0], in[1], std::nullopt)};
  };
  const auto wanted = testing::gradients(fused_layer_norm, {x, gain, zeros}, {dy});
  const auto got = testing::gradients(no_bias, {x, gain}, {dy});
  EXPECT_TRUE(got[0].equal(wanted[0]));
  EXPECT_TRUE(got[1].equal(wanted[1]));
}

}  // namespace
}  // namespace evenkeel
