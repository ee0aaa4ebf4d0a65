// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/rms_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "evenkeel/ops/common/reference.h"
#include "ops/gradients.h"
#include "support/close.h"

namespace evenkeel {
namespace {

using testing::close;
using testing::Tensors;

constexpr double kRmsEpsilon = 1e-5;

class RmsNorm : public ::testing::Test {
 protected:
  RmsNorm() { at::manual_seed(0); }

  at::Tensor x = at::randn({2, 3, 5}, at::kDouble);   // [B, T, D]
  at::Tensor dy = at::randn({2, 3, 5}, at::kDouble);  // [B, T, D]
  at::Tensor gain = at::randn({5}, at::kDouble);      // [D]
};

Tensors fused_rms_norm(const Tensors& in) {
  return {ops::rms_norm(in[0], in[1], kRmsEpsilon)};
}
Tensors rms_norm_formula(const Tensors& in) {
  return {ops::reference::rms_norm(in[0], in[1], kRmsEpsilon)};
}

// arXiv:1910.07467, eq. 4:  a_bar = a / RMS(a) * g,  RMS(a) = sqrt(mean(a^2)).
TEST_F(RmsNorm, DividesByTheRootMeanSquareAndAppliesTheGain) {
  const auto rms = (x * x).mean(-1, /*keepdim=*/true).sqrt();
  EXPECT_TRUE(close(ops::rms_norm(x, gain, /*epsilon=*/0), x / rms * gain, 1e-12, 0));
}

// ibid., section 4:  RMSNorm(c a) = RMSNorm(a) for every c > 0.
TEST_F(RmsNorm, IsInvariantToTheScaleOfItsInput) {
  EXPECT_TRUE(close(ops::rms_norm(1e3 * x, gain, 0), ops::rms_norm(x, gain, 0), 1e-12, 0));
}

TEST_F(RmsNorm, AddsEpsilonInsideTheRoot) {
  const auto row = at::full({1, 4}, 1e-3, at::kDouble);
  const auto expected = 1e-3 / std::sqrt(1e-6 + kRmsEpsilon);
  EXPECT_TRUE(close(ops::rms_norm(row, std::nullopt), at::full_like(row, expected), 1e-12, 0));
}

TEST_F(RmsNorm, TakesNoGainForOnes) {
  EXPECT_TRUE(ops::rms_norm(x, std::nullopt).equal(ops::rms_norm(x, at::ones({5}, at::kDouble))));
  const auto leaf = x.detach().requires_grad_();
  const auto dx = torch::autograd::grad({ops::rms_norm(leaf, std::nullopt)}, {leaf}, {dy})[0];
  const auto same = testing::gradients(fused_rms_norm, {x, at::ones({5}, at::kDouble)}, {dy})[0];
  EXPECT_TRUE(dx.equal(same));
}

TEST_F(RmsNorm, TakesAFloatGainBesideFloatAndBfloat16) {
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const auto leaf = x.to(dtype).requires_grad_();
    const auto g = gain.to(at::kFloat).requires_grad_();
    const auto y = ops::rms_norm(leaf, g);
    EXPECT_EQ(y.scalar_type(), dtype);
    const auto got = torch::autograd::grad({y}, {leaf, g}, {dy.to(dtype)});
    EXPECT_EQ(got[0].scalar_type(), dtype);
    EXPECT_EQ(got[1].scalar_type(), at::kFloat);
  }
}

// Within two units in the last place forward; backward within half a unit and a few roundings of
// float32.
TEST_F(RmsNorm, RoundsLittle) {
  constexpr double kFew = 8 * 0x1p-24;
  for (const auto dtype : {at::kFloat, at::kBFloat16}) {
    const bool narrow = dtype == at::kBFloat16;
    const double half = narrow ? 0x1p-8 : 0x1p-24;
    const auto rows = at::randn({64, 96}).to(dtype);
    const auto g = at::randn({96});
    const auto up = at::randn({64, 96}).to(dtype);
    const Tensors exact = {rows.to(at::kDouble), g.to(at::kDouble)};
    EXPECT_TRUE(close(ops::rms_norm(rows, g), rms_norm_formula(exact)[0], half + 3 * 0x1p-24, 0));
    const auto got = testing::gradients(fused_rms_norm, {rows, g}, {up});
    const auto wanted = testing::gradients(rms_norm_formula, exact, {up.to(at::kDouble)});
    const auto of_row = kFew * wanted[0].abs().amax(1, true);
    const auto excess = (got[0] - wanted[0]).abs() - half * 1.001 * wanted[0].abs() - of_row;
    EXPECT_LE(excess.max().item<double>(), 0) << "dx, " << dtype;
    const double largest = kFew * wanted[1].abs().max().item<double>();
    EXPECT_TRUE(close(got[1], wanted[1], 0x1p-24 * 1.001, largest)) << "dgain, " << dtype;
  }
}

TEST_F(RmsNorm, TakesEmptyInput) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{0, 5}, {3, 0}}) {
    const Tensors in = {at::empty(shape, at::kDouble), at::ones({shape[1]}, at::kDouble)};
    EXPECT_EQ(fused_rms_norm(in)[0].sizes(), at::IntArrayRef(shape));
    const auto got = testing::gradients(fused_rms_norm, in, {at::empty(shape, at::kDouble)});
    EXPECT_EQ(got[0].sizes(), at::IntArrayRef(shape));
    EXPECT_TRUE(got[1].equal(at::zeros({shape[1]}, at::kDouble)));
  }
}

}  // namespace
}  // namespace evenkeel
