// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/layer_norm.h"

#include <gtest/gtest.h>

#include "kernels/rows.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::kInFloat;
using testing::kRounding;
using testing::wavy;

constexpr double kEpsilon = 1e-5;

template <typename T>
class LayerNormRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(LayerNormRow, Types);

// y = gain * (x - mean) / sqrt(variance + epsilon) + bias.
TYPED_TEST(LayerNormRow, FollowsItsFormulaAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto features = static_cast<double>(width);
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
    const auto bias = wavy<Wide<TypeParam>>(width, 2.1);
    std::vector<TypeParam> y(width);
    const auto moments = layer_norm_row(x.data(), gain.data(), bias.data(), y.data(),
                                        static_cast<std::int64_t>(width), kEpsilon);

    double sum = 0;
    for (const double value : exact(x)) sum += value;
    double squares = 0;
    for (const double value : exact(x)) squares += std::pow(value - sum / features, 2);
    const double rstd = 1 / std::sqrt(squares / features + kEpsilon);
    EXPECT_NEAR(moments.mean, sum / features, 1e-14);
    EXPECT_NEAR(moments.rstd, rstd, 1e-13 * rstd);
    for (std::size_t i = 0; i < width; ++i) {
      const double expected =
          (exact(x)[i] - sum / features) * rstd * exact(gain)[i] + exact(bias)[i];
      const double bound =
          kRounding<TypeParam> * 1.001 * std::abs(expected) + 1e-12 + 3 * kInFloat<TypeParam>;
      ASSERT_NEAR(exact(y)[i], expected, bound) << "at " << i << " of " << width;
    }
  }
}

// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)); dgain += dy * x_hat; dbias += dy.
TYPED_TEST(LayerNormRow, FollowsTheFormulaOfItsGradientAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto features = static_cast<double>(width);
    const auto dy = wavy<TypeParam>(width, 0.9);
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
    const RowMoments moments{.mean = 0.125, .rstd = 1.75};  // the kernel takes what it is given
    std::vector<TypeParam> dx(width);
    std::vector<double> dgain(width, 1.0);
    std::vector<double> dbias(width, 2.0);
    layer_norm_row_backward<TypeParam>({.dy = dy.data(),
                                        .x = x.data(),
                                        .gain = gain.data(),
                                        .moments = moments,
                                        .dx = dx.data(),
                                        .dgain = dgain.data(),
                                        .dbias = dbias.data()},
                                       static_cast<std::int64_t>(width));

    const auto g = [&](std::size_t i) { return exact(dy)[i] * exact(gain)[i]; };
    const auto x_hat = [&](std::size_t i) { return (exact(x)[i] - 0.125) * 1.75; };
    double mean = 0;
    double slope = 0;
    for (std::size_t i = 0; i < width; ++i) {
      mean += g(i) / features;
      slope += g(i) * x_hat(i) / features;
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double expected = 1.75 * (g(i) - mean - x_hat(i) * slope);
      const double bound = kRounding<TypeParam> * 1.001 * std::abs(expected) + 1e-13;
      ASSERT_NEAR(exact(dx)[i], expected, bound) << "at " << i << " of " << width;
      EXPECT_NEAR(dgain[i], 1 + exact(dy)[i] * x_hat(i), 1e-13);
      EXPECT_NEAR(dbias[i], 2 + exact(dy)[i], 1e-13);
    }
  }
}

// x - mean(x) = 0 for equal values, whatever their sum was rounded to.
TYPED_TEST(LayerNormRow, GivesTheBiasForEqualValues) {
  for (const std::size_t width : {1, 3, 7, 64, 70, 1000}) {
    for (const double value : {0.1, 1234.0, 1e-30, 1e30, -3e38}) {
      std::vector<TypeParam> x(width), y(width);
      for (auto& each : x) store(&each, value);
      const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
      const auto bias = wavy<TypeParam>(width, 2.1);
      const auto wide = exact(bias);
      const std::vector<Wide<TypeParam>> plus(wide.begin(), wide.end());
      layer_norm_row(x.data(), gain.data(), plus.data(), y.data(), static_cast<std::int64_t>(width),
                     kEpsilon);
      ASSERT_EQ(exact(y), wide) << value << ", width " << width;
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
