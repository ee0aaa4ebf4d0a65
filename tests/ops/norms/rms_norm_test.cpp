// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/rms_norm.h"

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

constexpr double kEpsilon = 1e-5;

class RmsNorm : public ::testing::Test {
 protected:
  RmsNorm() { at::manual_seed(0); }

  at::Tensor x = at::randn({2, 3, 5}, at::kDouble);   // [B, T, D]
  at::Tensor dy = at::randn({2, 3, 5}, at::kDouble);  // [B, T, D]
  at::Tensor gain = at::randn({5}, at::kDouble);      // [D]
};

Tensors fused(const Tensors& in) {
  return {ops::rms_norm(in[0], in[1], kEpsilon)};
}
Tensors formula(const Tensors& in) {
  return {ops::reference::rms_norm(in[0], in[1], kEpsilon)};
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
  const auto expected = 1e-3 / std::sqrt(1e-6 + kEpsilon);
  EXPECT_TRUE(close(ops::rms_norm(row, std::nullopt), at::full_like(row, expected), 1e-12, 0));
}

TEST_F(RmsNorm, TakesNoGainForOnes) {
  EXPECT_TRUE(ops::rms_norm(x, std::nullopt).equal(ops::rms_norm(x, at::ones({5}, at::kDouble))));
  const auto leaf = x.detach().requires_grad_();
  const auto dx = torch::autograd::grad({ops::rms_norm(leaf, std::nullopt)}, {leaf}, {dy})[0];
  const auto same = testing::gradients(fused, {x, at::ones({5}, at::kDouble)}, {dy})[0];
  EXPECT_TRUE(dx.equal(same));
}

TEST_F(RmsNorm, HasTheGradientOfItsFormula) {
  testing::expect_equal_gradients(fused, formula, {x, gain}, {dy});
}

TEST_F(RmsNorm, HasTheGradientOfFiniteDifferences) {
  testing::expect_finite_differences(fused, {x, gain}, {dy});
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
    EXPECT_TRUE(close(ops::rms_norm(rows, g), formula(exact)[0], half + 3 * 0x1p-24, 0));
    const auto got = testing::gradients(fused, {rows, g}, {up});
    const auto wanted = testing::gradients(formula, exact, {up.to(at::kDouble)});
    const auto of_row = kFew * wanted[0].abs().amax(1, true);
    const auto excess = (got[0] - wanted[0]).abs() - half * 1.001 * wanted[0].abs() - of_row;
    EXPECT_LE(excess.max().item<double>(), 0) << "dx, " << dtype;
    const double largest = kFew * wanted[1].abs().max().item<double>();
    EXPECT_TRUE(close(got[1], wanted[1], 0x1p-24 * 1.001, largest)) << "dgain, " << dtype;
  }
}

TEST_F(RmsNorm, TakesNonContiguousInput) {
  const auto across = at::randn({5, 3, 2}, at::kDouble).permute({2, 1, 0});  // [2, 3, 5]
  const auto every_other = at::randn({10}, at::kDouble).slice(0, 0, 10, 2);  // [5]
  EXPECT_FALSE(across.is_contiguous());
  const auto y = ops::rms_norm(across, every_other);
  EXPECT_TRUE(y.equal(ops::rms_norm(across.contiguous(), every_other.contiguous())));
  EXPECT_TRUE(y.is_contiguous());
  const auto up = dy.transpose(0, 1).contiguous().transpose(0, 1);
  testing::expect_equal_gradients(fused, formula, {across, every_other}, {up});
}

TEST_F(RmsNorm, TakesEmptyInput) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{0, 5}, {3, 0}}) {
    const Tensors in = {at::empty(shape, at::kDouble), at::ones({shape[1]}, at::kDouble)};
    EXPECT_EQ(fused(in)[0].sizes(), at::IntArrayRef(shape));
    const auto got = testing::gradients(fused, in, {at::empty(shape, at::kDouble)});
    EXPECT_EQ(got[0].sizes(), at::IntArrayRef(shape));
    EXPECT_TRUE(got[1].equal(at::zeros({shape[1]}, at::kDouble)));
  }
}

TEST_F(RmsNorm, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = at::get_num_threads();
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto rows = at::randn({1000, 96}).to(dtype);
    const auto g = at::randn({96}).to(dtype == at::kDouble ? at::kDouble : at::kFloat);
    const auto up = at::randn({1000, 96}).to(dtype);
    const auto run = [&](int threads) {
      at::set_num_threads(threads);
      auto all = testing::gradients(fused, {rows, g}, {up});
      all.push_back(fused({rows, g})[0]);
      return all;
    };
    const auto one = run(1);
    for (const int threads : {2, 3}) {
      const auto many = run(threads);
      for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(many[i])) << i;
    }
  }
  at::set_num_threads(threads_before);
}

TEST_F(RmsNorm, GivesShapesWithoutDataOnTheMetaDevice) {
  const auto y = ops::rms_norm(x.to(at::kMeta), gain.to(at::kMeta));
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.sizes(), x.sizes());
  EXPECT_EQ(y.scalar_type(), at::kDouble);
}

TEST_F(RmsNorm, RefusesASecondDerivative) {
  const auto leaf = x.detach().requires_grad_();
  const auto y = ops::rms_norm(leaf, gain).sum();
  const auto dx = torch::autograd::grad({y}, {leaf}, {}, /*retain_graph=*/true,
                                        /*create_graph=*/true);
  EXPECT_THROW(torch::autograd::grad({dx[0].sum()}, {leaf}), c10::Error);
}

TEST_F(RmsNorm, RejectsMismatchedArguments) {
  const auto message = [](const at::Tensor& rows, const std::optional<at::Tensor>& g, double e) {
    return message_of([&] { ops::rms_norm(rows, g, e); });
  };
  EXPECT_EQ(message(x, at::ones({4}, at::kDouble), 0),
            "[rms_norm] gain must be [5] to fit x [2, 3, 5], but is [4]");
  EXPECT_EQ(message(x.to(at::kBFloat16), at::ones({5}, at::kBFloat16), 0),
            "[rms_norm] gain must be float32 on cpu beside x of bfloat16, but is bfloat16 on cpu");
  EXPECT_EQ(message(x.to(at::kLong), std::nullopt, 0),
            "[rms_norm] x must be float32, bfloat16 or float64, but is int64");
  EXPECT_EQ(message(at::scalar_tensor(1.0), std::nullopt, 0),
            "[rms_norm] x must have an axis of features, but is a scalar");
  EXPECT_EQ(message(x, gain, -1), "[rms_norm] epsilon must be >= 0, but is -1");
}

}  // namespace
}  // namespace evenkeel
