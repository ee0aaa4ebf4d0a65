// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/norm_layer.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "support/close.h"

namespace evenkeel {
namespace {

using norm::Affine;
using norm::EpsilonAt;
using norm::Kind;
using testing::close;

class NormLayer : public ::testing::Test {
 protected:
  NormLayer() { torch::manual_seed(4); }

  static at::Tensor apply(const norm::Norm& norm, const at::Tensor& rows, const at::Tensor& g = {},
                          const at::Tensor& b = {}, std::int64_t heads = 1, bool fused = true) {
    return nn::NormLayer(norm, {}, rows.size(-1), heads, {.gain = g, .bias = b}, fused)(
        rows, nn::Mode::evaluation);
  }

  at::Tensor x = torch::randn({2, 3, 8}, at::kDouble);
  at::Tensor gain = torch::randn({8}, at::kDouble);
};

// g x / (sqrt(m(x^2)) + e)
TEST_F(NormLayer, AddsAnOutsideEpsilonToTheRoot) {
  const norm::Norm outside{.epsilon = 0.5, .epsilon_at = EpsilonAt::outside};
  const auto root = x.square().mean(-1, true).sqrt();
  EXPECT_TRUE(close(apply(outside, x, gain), gain * x / (root + 0.5), 1e-12, 1e-14));
}

// g x / max(|x|, e)
TEST_F(NormLayer, ClampsALength) {
  const norm::Norm l2{
      .kind = Kind::l2, .affine = Affine::none, .epsilon = 1e-12, .epsilon_at = EpsilonAt::clamp};
  EXPECT_TRUE(close(apply(l2, x).square().sum(-1), torch::ones({2, 3}, at::kDouble), 1e-12, 0));
}

TEST_F(NormLayer, GivesZerosAndFiniteGradientsForARowOfZeros) {
  for (const auto at : {EpsilonAt::inside, EpsilonAt::outside, EpsilonAt::clamp}) {
    const norm::Norm norm{.epsilon_at = at};
    auto zeros = torch::zeros({1, 8}, at::kDouble).requires_grad_();
    const auto y = apply(norm, zeros, gain);
    EXPECT_TRUE(y.equal(torch::zeros_like(y)));
    const auto dx = torch::autograd::grad({y.sum()}, {zeros})[0];
    EXPECT_TRUE(dx.isfinite().all().item<bool>());
    if (at == EpsilonAt::inside) continue;
    EXPECT_TRUE(close(dx[0], gain / 1e-5, 1e-12, 0));  // g dy / e
  }
}

TEST_F(NormLayer, MeasuresTheFirstFeaturesOnlyIfPartial) {
  const norm::Norm partial{.epsilon = 0, .partial = 0.25};
  const auto root = x.narrow(-1, 0, 2).square().mean(-1, true).sqrt();
  EXPECT_TRUE(close(apply(partial, x, gain), gain * x / root, 1e-12, 1e-14));
}

TEST_F(NormLayer, NormsEachHeadAloneAndSharesItsGain) {
  const norm::Norm per_head{.scope = norm::Scope::head, .epsilon = 0};
  const auto g = gain.narrow(0, 0, 4);
  const auto heads = x.unflatten(-1, {2, 4});
  const auto wanted = (g * heads / heads.square().mean(-1, true).sqrt()).flatten(-2);
  EXPECT_TRUE(close(apply(per_head, x, g, {}, 2), wanted, 1e-12, 1e-14));
}

TEST_F(NormLayer, GivesEachHeadItsOwnGainIfTheyDoNotShare) {
  const norm::Norm own{.scope = norm::Scope::head, .heads_share = false, .epsilon = 0};
  const auto heads = x.unflatten(-1, {2, 4});
  const auto wanted =
      (gain.view({2, 4}) * heads / heads.square().mean(-1, true).sqrt()).flatten(-2);
  EXPECT_TRUE(close(apply(own, x, gain, {}, 2), wanted, 1e-12, 1e-14));
}

// stored_at: the parameter acts times gain_init / stored_at; out_scale: bias included.
TEST_F(NormLayer, ScalesStoredGainsAndTheWholeResult) {
  norm::Norm norm{.kind = Kind::layer_norm, .affine = Affine::vector_bias, .gain_init = 0.5};
  norm.stored_at = 2.0;
  norm.out_scale = 3;
  const auto bias = torch::randn({8}, at::kDouble);
  norm::Norm plain{.kind = Kind::layer_norm, .affine = Affine::vector_bias};
  const auto wanted = 3 * apply(plain, x, gain * 0.25, bias);
  EXPECT_TRUE(close(apply(norm, x, gain, bias), wanted, 1e-12, 1e-14));
  EXPECT_TRUE(close(apply(norm, x, gain, bias, 1, /*fused=*/false), wanted, 1e-12, 1e-14));
}

TEST_F(NormLayer, AddsOneToAZeroCentredGain) {
  const norm::Norm centred{.gain_form = norm::GainForm::one_plus_w};
  EXPECT_TRUE(close(apply(centred, x, gain), apply({}, x, gain + 1), 1e-12, 1e-14));
}

// absmax8 divides by a constant first: no gradient flows through it, and with epsilon 0 the result
// stays.
TEST_F(NormLayer, TakesAnEighthOfTheLargestMagnitudeAsAConstant) {
  const norm::Norm rescaled{.epsilon = 0, .pre_scale = norm::PreScale::absmax8};
  EXPECT_TRUE(close(apply(rescaled, x, gain), apply({.epsilon = 0}, x, gain), 1e-12, 1e-14));
  const norm::Norm scale{.kind = Kind::scale, .pre_scale = norm::PreScale::absmax8};
  auto row = x.clone().requires_grad_();
  const auto dx = torch::autograd::grad({apply(scale, row, gain).sum()}, {row})[0];
  EXPECT_TRUE(close(dx, gain * 8 / x.abs().amax(-1, true), 1e-12, 0));
}

TEST_F(NormLayer, TakesTheEighthOfTheWholeRowForAllGroups) {
  norm::Norm norm{.kind = Kind::group_norm, .pre_scale = norm::PreScale::absmax8};
  norm.groups = 2;
  const auto apart =
      x * torch::tensor({100., 100., 100., 100., 1e-2, 1e-2, 1e-2, 1e-2}, at::kDouble);
  const auto wanted = apply(norm, apart, gain, {}, 1, /*fused=*/false);
  EXPECT_TRUE(close(apply(norm, apart, gain), wanted, 1e-12, 1e-14));
}

// Rounded once, at the end: at most half a unit in the last place of the float64 result.
TEST_F(NormLayer, DividesBfloat16RowsInFloat32) {
  const auto rows = torch::randn({64, 128}).to(at::kBFloat16);
  const auto ones = torch::ones({128});
  for (const auto kind : {Kind::rms_norm, Kind::layer_norm, Kind::scale}) {
    for (const bool fused : {true, false}) {
      const norm::Norm norm{.kind = kind, .pre_scale = norm::PreScale::absmax8};
      const auto exact = apply(norm, rows.to(at::kDouble), ones.to(at::kDouble));
      const auto y = apply(norm, rows, ones, {}, 1, fused);
      EXPECT_EQ(y.scalar_type(), at::kBFloat16);
      EXPECT_TRUE(close(y, exact, 1.001 * 0x1p-8, 0)) << static_cast<int>(kind);
    }
  }
}

TEST_F(NormLayer, StaysExactForRowsBeyondTheSquareRootOfTheLargestFloat) {
  const norm::Norm l2{.kind = Kind::l2, .affine = Affine::none, .epsilon_at = EpsilonAt::clamp};
  const auto large = torch::full({1, 4}, 1e30F);
  EXPECT_TRUE(close(apply(l2, large), torch::full({1, 4}, 0.5F), 1e-6, 0));
}

}  // namespace
}  // namespace evenkeel
