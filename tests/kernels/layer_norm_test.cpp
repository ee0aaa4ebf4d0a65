// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/layer_norm.h"

#include <gtest/gtest.h>

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::kInFloat;
using testing::kRounding;
using testing::wavy;

constexpr double kLayerEpsilon = 1e-5;

template <typename T>
class LayerNormRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(LayerNormRow, Types);

// y = gain * (x - mean) / sqrt(variance + epsilon) + bias.
TYPED_TEST(LayerNormRow, FollowsItsFormulaAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto features = static_cast<double>(width);
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
    const auto bias = wavy<OpMathType<TypeParam>>(width, 2.1);
    std::vector<TypeParam> y(width);
    const auto moments = layer_norm_row(x.data(), gain.data(), bias.data(), y.data(),
                                        static_cast<std::int64_t>(width), kLayerEpsilon);

    double sum = 0;
    for (const double value : exact(x)) sum += value;
    double squares = 0;
    for (const double value : exact(x)) squares += std::pow(value - sum / features, 2);
    const double rstd = 1 / std::sqrt(squares / features + kLayerEpsilon);
    const bool is_avx512 = std::is_same_v<TypeParam, Bf16> && has_avx512_bf16();
    EXPECT_NEAR(moments.mean, sum / features, is_avx512 ? kInFloat<Bf16> : 1e-14);
    EXPECT_NEAR(moments.rstd, rstd, (is_avx512 ? kInFloat<Bf16> : 1e-13) * rstd);
    for (std::size_t i = 0; i < width; ++i) {
      const double expected =
          (exact(x)[i] - sum / features) * rstd * exact(gain)[i] + exact(bias)[i];
      const double bound =
          kRounding<TypeParam> * 1.001 * std::abs(expected) + 1e-12 + 3 * kInFloat<TypeParam>;
      ASSERT_NEAR(exact(y)[i], expected, bound) << "at " << i << " of " << width;
    }
  }
}

/// The mean of a row and 1 / sqrt(variance + epsilon).
std::pair<double, double> moments_of(const std::vector<double>& x) {
  const auto width = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (const double value : x) mean += value / width;
  for (const double value : x) square += std::pow(value - mean, 2) / width;
  return {mean, 1 / std::sqrt(square + kLayerEpsilon)};
}

// Where nearly all of a row is its mean, float32 would keep few bits of what is left: from less
// than half a deviation (0.3 and 0.4: a deviation is 0.7) to a hundred, and backward with what the
// forward pass has found.
TYPED_TEST(LayerNormRow, KeepsDigitsUnderALargeMean) {
  constexpr std::int64_t kWidth = 96;
  for (const double far : {0.3, 0.4, 1.0, 2.0, 10.0, 100.0}) {
    const std::vector<double> ripple = exact(wavy<TypeParam>(kWidth, 0.3));
    std::vector<TypeParam> x(kWidth), y(kWidth), dx(kWidth);
    for (std::size_t i = 0; i < kWidth; ++i) store(&x[i], 64 * (ripple[i] + far));
    const std::vector<OpMathType<TypeParam>> ones(kWidth, 1), zeros(kWidth, 0);
    const auto dy = wavy<TypeParam>(kWidth, 0.9);
    const auto [mean, rstd] = moments_of(exact(x));
    double mean_g = 0, slope = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      mean_g += exact(dy)[i] / kWidth;
      slope += exact(dy)[i] * (exact(x)[i] - mean) * rstd / kWidth;
    }
    const auto moments =
        layer_norm_row(x.data(), ones.data(), zeros.data(), y.data(), kWidth, kLayerEpsilon);
    const double unknown = far < 0.5 ? kInFloat<TypeParam> : 1e-12;
    EXPECT_NEAR(moments.mean, mean, (unknown + 1e-12) * std::abs(mean)) << far;
    EXPECT_NEAR(moments.rstd, rstd, (unknown + 1e-12) * rstd) << far;
    std::vector<double> dgain(kWidth, 0), dbias(kWidth, 0);
    layer_norm_backward<TypeParam>({.dy = dy.data(),
                                    .x = x.data(),
                                    .gain = ones.data(),
                                    .mean = &moments.mean,
                                    .rstd = &moments.rstd,
                                    .dx = dx.data(),
                                    .dgain = dgain.data(),
                                    .dbias = dbias.data()},
                                   1, kWidth);
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double x_hat = (exact(x)[i] - mean) * rstd;
      const double gradient = rstd * (exact(dy)[i] - mean_g - x_hat * slope);
      const auto slack = 8 * kInFloat<TypeParam> + 1e-12;
      ASSERT_NEAR(exact(y)[i], x_hat, kRounding<TypeParam> * std::abs(x_hat) + slack) << far;
      ASSERT_NEAR(exact(dx)[i], gradient, kRounding<TypeParam> * std::abs(gradient) + rstd * slack)
          << far;
    }
  }
}

// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)); dgain += dy * x_hat; dbias += dy.
TYPED_TEST(LayerNormRow, FollowsTheFormulaOfItsGradientAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto features = static_cast<double>(width);
    const auto dy = wavy<TypeParam>(width, 0.9);
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
    const RowMoments moments{.mean = 0.125, .rstd = 1.75};  // the kernel takes what it is given
    std::vector<TypeParam> dx(width);
    std::vector<double> dgain(width, 1.0);
    std::vector<double> dbias(width, 2.0);
    layer_norm_backward<TypeParam>({.dy = dy.data(),
                                    .x = x.data(),
                                    .gain = gain.data(),
                                    .mean = &moments.mean,
                                    .rstd = &moments.rstd,
                                    .dx = dx.data(),
                                    .dgain = dgain.data(),
                                    .dbias = dbias.data()},
                                   1, static_cast<std::int64_t>(width));

    const auto g = [&](std::size_t i) { return exact(dy)[i] * exact(gain)[i]; };
    const auto x_hat = [&](std::size_t i) { return (exact(x)[i] - 0.125) * 1.75; };
    double mean = 0;
    double slope = 0;
    for (std::size_t i = 0; i < width; ++i) {
      mean += g(i) / features;
      slope += g(i) * x_hat(i) / features;
    }
    const double slack = 1e-13 + kInFloat<TypeParam>;
    for (std::size_t i = 0; i < width; ++i) {
      const double expected = 1.75 * (g(i) - mean - x_hat(i) * slope);
      const double bound = kRounding<TypeParam> * 1.001 * std::abs(expected) + slack;
      ASSERT_NEAR(exact(dx)[i], expected, bound) << "at " << i << " of " << width;
      EXPECT_NEAR(dgain[i], 1 + exact(dy)[i] * x_hat(i), slack);
      EXPECT_NEAR(dbias[i], 2 + exact(dy)[i], slack);
    }
  }
}

// Of a gradient along x_hat, or of equal values, next to nothing is left, which float32 would not
// know.
TYPED_TEST(LayerNormRow, KeepsDigitsUnderCancellation) {
  constexpr std::size_t kWidth = 96;
  const auto x = wavy<TypeParam>(kWidth, 0.3);
  const auto ripple = exact(wavy<double>(kWidth, 0.9));
  const std::vector<OpMathType<TypeParam>> gain(kWidth, 1), bias(kWidth, 0);
  std::vector<TypeParam> y(kWidth), dy(kWidth), dx(kWidth);
  const auto [mean, rstd] =
      layer_norm_row(x.data(), gain.data(), bias.data(), y.data(), kWidth, kLayerEpsilon);
  for (const auto& [along, equal] : {std::pair{2.0, 0.0}, {0.0, 2.0}}) {
    double dot = 0, mean_g = 0;
    const auto x_hat = [&](std::size_t i) { return (exact(x)[i] - mean) * rstd; };
    for (std::size_t i = 0; i < kWidth; ++i) {
      store(&dy[i], along * x_hat(i) + equal + 1e-3 * ripple[i]);
      dot += exact(dy)[i] * x_hat(i) / kWidth;
      mean_g += exact(dy)[i] / kWidth;
    }
    std::vector<double> dgain(kWidth, 0.0), dbias(kWidth, 0.0), truth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      truth.push_back(rstd * (exact(dy)[i] - mean_g - x_hat(i) * dot));
    }
    layer_norm_backward<TypeParam>({.dy = dy.data(),
                                    .x = x.data(),
                                    .gain = gain.data(),
                                    .mean = &mean,
                                    .rstd = &rstd,
                                    .dx = dx.data(),
                                    .dgain = dgain.data(),
                                    .dbias = dbias.data()},
                                   1, kWidth);
    EXPECT_TRUE(testing::is_row(dx, truth, 8 * rstd)) << along;
  }
}

// Below the smallest normal number of float32 and bfloat16, where processors like to give 0.
TYPED_TEST(LayerNormRow, KeepsTinyResults) {
  constexpr std::int64_t kWidth = 64;
  const auto x = wavy<TypeParam>(kWidth, 0.3);
  const std::vector<OpMathType<TypeParam>> gain(kWidth, 0x1p-128F), one(kWidth, 1);
  const std::vector<OpMathType<TypeParam>> bias(kWidth, 0);
  std::vector<TypeParam> y(kWidth), whole(kWidth);
  layer_norm_row(x.data(), gain.data(), bias.data(), y.data(), kWidth, kLayerEpsilon);
  layer_norm_row(x.data(), one.data(), bias.data(), whole.data(), kWidth, kLayerEpsilon);
  for (std::size_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(exact(y)[i], exact(whole)[i] * 0x1p-128, 0x1p-133) << i;
  }
}

// What rows share is summed over several at a time; the row whose factor is far from 1 is not
// among them, but counts.
TYPED_TEST(LayerNormRow, HasTheSameBitsInBlocksOfRows) {
  constexpr std::size_t kRows = 11, kWidth = 70;
  const auto dy = wavy<TypeParam>(kRows * kWidth, 0.9);
  auto x = wavy<TypeParam>(kRows * kWidth, 0.3);
  const auto gain = wavy<OpMathType<TypeParam>>(kWidth, 1.1);
  const std::vector<double> mean(kRows, 0.125);
  std::vector<double> rstd(kRows, 1.75), dgain(kWidth, 1.0), dbias(kWidth, 2.0);
  rstd[5] = 0x1p-70;
  for (auto i = 5 * kWidth; i < 6 * kWidth; ++i) store(&x[i], 0x1p70 * exact(x)[i]);
  std::vector<TypeParam> dx(kRows * kWidth), alone(kWidth);
  layer_norm_backward<TypeParam>({.dy = dy.data(),
                                  .x = x.data(),
                                  .gain = gain.data(),
                                  .mean = mean.data(),
                                  .rstd = rstd.data(),
                                  .dx = dx.data(),
                                  .dgain = dgain.data(),
                                  .dbias = dbias.data()},
                                 kRows, kWidth);
  std::vector<double> gains(kWidth, 1.0), biases(kWidth, 2.0), unused(kWidth);
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto offset = row * kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      gains[i] += exact(dy)[offset + i] * (exact(x)[offset + i] - mean[row]) * rstd[row];
      biases[i] += exact(dy)[offset + i];
    }
    layer_norm_backward<TypeParam>({.dy = dy.data() + offset,
                                    .x = x.data() + offset,
                                    .gain = gain.data(),
                                    .mean = &mean[row],
                                    .rstd = &rstd[row],
                                    .dx = alone.data(),
                                    .dgain = unused.data(),
                                    .dbias = unused.data()},
                                   1, kWidth);
    EXPECT_EQ(exact(testing::row_of(dx, row, kWidth)), exact(alone)) << "row " << row;
  }
  EXPECT_TRUE(testing::is_near(dgain, gains, kRows * (1e-13 + kInFloat<TypeParam>)));
  EXPECT_TRUE(testing::is_near(dbias, biases, kRows * (1e-13 + kInFloat<TypeParam>)));
}

// What cancels in the variance of a row whose values differ in their last bit, and in one place.
TYPED_TEST(LayerNormRow, KnowsTheVarianceOfNearlyEqualValues) {
  constexpr std::size_t kWidth = 4096;
  const double step = 2 * kRounding<Bf16>;
  std::vector<TypeParam> x(kWidth), y(kWidth);
  for (auto& each : x) store(&each, 1.0);
  store(&x[7], 1 + step);
  const std::vector<OpMathType<TypeParam>> gain(kWidth, 1), bias(kWidth, 0);
  const auto moments = layer_norm_row(x.data(), gain.data(), bias.data(), y.data(), kWidth, 0.0);
  const double share = 1.0 / kWidth;
  EXPECT_NEAR(moments.rstd * step * std::sqrt(share * (1 - share)), 1, 1e-6);
  EXPECT_NEAR(exact(y)[7], std::sqrt((1 - share) / share), 0.13);  // half a bfloat16 at 64
  EXPECT_NEAR(exact(y)[8], -std::sqrt(share / (1 - share)),
              1.001 * 0x1p-6 * kRounding<TypeParam> + 1e-7);
}

// x - mean(x) = 0 for equal values, whatever their sum was rounded to.
TYPED_TEST(LayerNormRow, GivesTheBiasForEqualValues) {
  for (const std::size_t width : {1, 3, 7, 64, 70, 1000}) {
    for (const double value : {0.1, 1234.0, 1e-30, 1e30, -3e38}) {
      std::vector<TypeParam> x(width), y(width);
      for (auto& each : x) store(&each, value);
      const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
      const auto bias = wavy<TypeParam>(width, 2.1);
      const auto wide = exact(bias);
      const std::vector<OpMathType<TypeParam>> plus(wide.begin(), wide.end());
      layer_norm_row(x.data(), gain.data(), plus.data(), y.data(), static_cast<std::int64_t>(width),
                     kLayerEpsilon);
      ASSERT_EQ(exact(y), wide) << value << ", width " << width;
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
