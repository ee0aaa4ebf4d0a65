// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/rms_norm.h"

#include <gtest/gtest.h>

#include "kernels/rows.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::kInFloat;
using testing::kRounding;
using testing::wavy;

constexpr double kEpsilon = 1e-5;
constexpr double kSlack = 1e-13;  // of the sums in double, and of the second rounding to bfloat16

template <typename T>
class RmsNormRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(RmsNormRow, Types);

double rstd_of(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + kEpsilon);
}

template <typename T>
void expect_rounded(const std::vector<T>& actual, const std::vector<double>& expected,
                    double size = 0, double in_float = 0) {
  const auto values = exact(actual);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double bound =
        kRounding<T> * 1.001 * std::abs(expected[i]) + kSlack * (1 + size) + in_float * (1 + size);
    ASSERT_LE(std::abs(values[i] - expected[i]), bound) << "at " << i << " of " << values.size();
  }
}

// y = gain * x / sqrt(mean(x^2) + epsilon); every tail that fills no vector.
TYPED_TEST(RmsNormRow, FollowsItsFormulaAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
    std::vector<TypeParam> y(width);
    const double rstd =
        rms_norm_row(x.data(), gain.data(), y.data(), static_cast<std::int64_t>(width), kEpsilon);

    const auto in = exact(x);
    EXPECT_NEAR(rstd, rstd_of(in), kSlack * rstd);
    std::vector<double> expected;
    for (std::size_t i = 0; i < width; ++i)
      expected.push_back(in[i] * rstd_of(in) * exact(gain)[i]);
    expect_rounded(y, expected, 0, kInFloat<TypeParam>);
  }
}

// sum = residual + branch in the dtype of the rows, and the norm is that of the rounded sum.
TYPED_TEST(RmsNormRow, AddsFirstWhereItIsAskedTo) {
  for (const std::size_t width : {1, 16, 37, 64, 70}) {
    const auto count = static_cast<std::int64_t>(width);
    const auto residual = wavy<TypeParam>(width, 0.3);
    const auto branch = wavy<TypeParam>(width, 2.2);
    const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
    std::vector<TypeParam> sum(width), y(width), alone(width);
    add_rms_norm_row(residual.data(), branch.data(), gain.data(), sum.data(), y.data(), count,
                     kEpsilon);

    rms_norm_row(sum.data(), gain.data(), alone.data(), count, kEpsilon);
    EXPECT_EQ(exact(y), exact(alone));
    std::vector<double> expected;
    for (std::size_t i = 0; i < width; ++i) {
      expected.push_back(exact(residual)[i] + exact(branch)[i]);
    }
    expect_rounded(sum, expected);
  }
}

// dx = skip + rstd * (g - x_hat * mean(g * x_hat)); dgain += dy * x_hat.
TYPED_TEST(RmsNormRow, FollowsTheFormulaOfItsGradientAtEveryWidth) {
  for (std::size_t width = 1; width <= 70; ++width) {
    const auto dy = wavy<TypeParam>(width, 0.9);
    const auto skip = wavy<TypeParam>(width, 4.0);
    const auto x = wavy<TypeParam>(width, 0.3);
    const auto gain = wavy<Wide<TypeParam>>(width, 1.1);
    const double rstd = rstd_of(exact(x));
    std::vector<TypeParam> with(width), without(width);
    std::vector<double> dgain(width, 1.0);
    RmsNormGradient<TypeParam> row{.dy = dy.data(),
                                   .skip = skip.data(),
                                   .x = x.data(),
                                   .gain = gain.data(),
                                   .rstd = rstd,
                                   .dx = with.data(),
                                   .dgain = dgain.data()};
    rms_norm_row_backward(row, static_cast<std::int64_t>(width));
    row.skip = nullptr;
    row.dx = without.data();
    rms_norm_row_backward(row, static_cast<std::int64_t>(width));

    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) {
      dot += exact(dy)[i] * exact(gain)[i] * exact(x)[i] * rstd;
    }
    const double in_float = std::is_same_v<TypeParam, Bf16> ? kInFloat<Bf16> : 0;
    std::vector<double> through, both;
    for (std::size_t i = 0; i < width; ++i) {
      const double x_hat = exact(x)[i] * rstd;
      const double mean = dot / static_cast<double>(width);
      through.push_back(rstd * (exact(dy)[i] * exact(gain)[i] - x_hat * mean));
      both.push_back(exact(skip)[i] + through.back());
      EXPECT_NEAR(dgain[i], 1 + 2 * exact(dy)[i] * x_hat, kSlack * 100 + in_float);  // of two calls
    }
    expect_rounded(without, through, rstd * rstd, in_float);
    expect_rounded(with, both, rstd * rstd, in_float);
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
