// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/rms_norm.h"

#include <gtest/gtest.h>

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::kInFloat;
using testing::kRounding;
using testing::wavy;

constexpr double kRmsEpsilon = 1e-5;
constexpr double kSlack = 1e-13;  // of the sums in double, and of the second rounding to bfloat16

template <typename T>
class RmsNormRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(RmsNormRow, Types);

double rstd_of(const std::vector<double>& x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + kRmsEpsilon);
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
    const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
    std::vector<TypeParam> y(width);
    const double rstd = rms_norm_row(x.data(), gain.data(), y.data(),
                                     static_cast<std::int64_t>(width), kRmsEpsilon);

    const auto in = exact(x);
    const double slack =
        std::is_same_v<TypeParam, Bf16> && has_avx512_bf16() ? kInFloat<Bf16> : kSlack;
    EXPECT_NEAR(rstd, rstd_of(in), slack * rstd);
    std::vector<double> expected;
    for (std::size_t i = 0; i < width; ++i)
      expected.push_back(in[i] * rstd_of(in) * exact(gain)[i]);
    expect_rounded(y, expected, 0, kInFloat<TypeParam>);
  }
}

// sum = residual + branch in the dtype of the rows, and the norm is that of the rounded sum.
TYPED_TEST(RmsNormRow, AddsTheResidualFirst) {
  for (const std::size_t width : {1, 16, 37, 64, 70}) {
    const auto count = static_cast<std::int64_t>(width);
    const auto residual = wavy<TypeParam>(width, 0.3);
    const auto branch = wavy<TypeParam>(width, 2.2);
    const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
    std::vector<TypeParam> sum(width), y(width), alone(width);
    add_rms_norm_row(residual.data(), branch.data(), gain.data(), sum.data(), y.data(), count,
                     kRmsEpsilon);

    rms_norm_row(sum.data(), gain.data(), alone.data(), count, kRmsEpsilon);
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
    const auto gain = wavy<OpMathType<TypeParam>>(width, 1.1);
    const double rstd = rstd_of(exact(x));
    std::vector<TypeParam> with(width), without(width);
    std::vector<double> dgain(width, 1.0);
    RmsNormGradient<TypeParam> row{.dy = dy.data(),
                                   .skip = skip.data(),
                                   .x = x.data(),
                                   .gain = gain.data(),
                                   .rstd = &rstd,
                                   .dx = with.data(),
                                   .dgain = dgain.data()};
    rms_norm_backward(row, 1, static_cast<std::int64_t>(width));
    row.skip = nullptr;
    row.dx = without.data();
    rms_norm_backward(row, 1, static_cast<std::int64_t>(width));

    double dot = 0;
    for (std::size_t i = 0; i < width; ++i) {
      dot += exact(dy)[i] * exact(gain)[i] * exact(x)[i] * rstd;
    }
    const double in_float = kInFloat<TypeParam>;
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

// The projection removes almost all of a gradient along x_hat, and float32 has too few digits for
// the rest. Two rows have such gradients, among rows that the kernel processes with them.
TYPED_TEST(RmsNormRow, KeepsDigitsUnderCancellation) {
  constexpr std::size_t kRows = 6, kWidth = 96;
  const auto x = wavy<TypeParam>(kRows * kWidth, 0.3);
  const auto ripple = wavy<double>(kRows * kWidth, 0.9);
  const auto gain = wavy<OpMathType<TypeParam>>(kWidth, 1.1);
  const auto in = exact(x), gains = exact(gain);
  std::vector<TypeParam> dy(kRows * kWidth), dx(kRows * kWidth);
  std::vector<double> rstd, dgain(kWidth, 0.0), expected(kWidth, 0.0);
  std::vector<std::vector<double>> truth(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto values = testing::row_of(in, row, kWidth);
    rstd.push_back(rstd_of(values));
    const bool is_along = row == 1 || row == 5;
    double dot = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      const auto offset = row * kWidth + i;
      const double along = 2 * values[i] * rstd[row] / gains[i];
      store(&dy[offset], is_along ? along * (1 + 1e-3 * ripple[offset]) : ripple[offset]);
      dot += exact(dy)[offset] * gains[i] * values[i] * rstd[row] / kWidth;
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double upstream = exact(dy)[row * kWidth + i], x_hat = values[i] * rstd[row];
      truth[row].push_back(rstd[row] * (upstream * gains[i] - x_hat * dot));
      expected[i] += upstream * x_hat;
    }
  }
  rms_norm_backward<TypeParam>({.dy = dy.data(),
                                .skip = nullptr,
                                .x = x.data(),
                                .gain = gain.data(),
                                .rstd = rstd.data(),
                                .dx = dx.data(),
                                .dgain = dgain.data()},
                               kRows, kWidth);
  for (std::size_t row = 0; row < kRows; ++row)
    EXPECT_TRUE(testing::is_row(testing::row_of(dx, row, kWidth), truth[row], 8 * rstd[row]));
  const double slack = kSlack + kRows * kInFloat<TypeParam>;
  for (std::size_t i = 0; i < kWidth; ++i)
    EXPECT_NEAR(dgain[i], expected[i], slack * (1 + std::abs(expected[i]))) << i;
}

// Below the smallest normal number of float32 and bfloat16, where processors like to give 0.
TYPED_TEST(RmsNormRow, KeepsTinyResults) {
  constexpr std::int64_t kWidth = 64;
  const auto x = wavy<TypeParam>(kWidth, 0.3);
  const std::vector<OpMathType<TypeParam>> gain(kWidth, 0x1p-128F), one(kWidth, 1);
  std::vector<TypeParam> y(kWidth), whole(kWidth);
  rms_norm_row(x.data(), gain.data(), y.data(), kWidth, kRmsEpsilon);
  rms_norm_row(x.data(), one.data(), whole.data(), kWidth, kRmsEpsilon);
  for (std::size_t i = 0; i < kWidth; ++i) {
    EXPECT_NEAR(exact(y)[i], exact(whole)[i] * 0x1p-128, 0x1p-133) << i;
  }
}

// What rows share is summed over several at a time; the row whose factor is far from 1 is not
// among them, but counts.
TYPED_TEST(RmsNormRow, HasTheSameBitsInBlocksOfRows) {
  constexpr std::size_t kRows = 11, kWidth = 70;
  const auto dy = wavy<TypeParam>(kRows * kWidth, 0.9);
  const auto skip = wavy<TypeParam>(kRows * kWidth, 4.0);
  auto x = wavy<TypeParam>(kRows * kWidth, 0.3);
  const auto gain = wavy<OpMathType<TypeParam>>(kWidth, 1.1);
  std::vector<double> rstd(kRows, 1.5), dgain(kWidth, 1.0), expected(kWidth, 1.0);
  rstd[5] = 0x1p-70;
  for (auto i = 5 * kWidth; i < 6 * kWidth; ++i) store(&x[i], 0x1p70 * exact(x)[i]);
  std::vector<TypeParam> dx(kRows * kWidth), alone(kWidth);
  rms_norm_backward<TypeParam>({.dy = dy.data(),
                                .skip = skip.data(),
                                .x = x.data(),
                                .gain = gain.data(),
                                .rstd = rstd.data(),
                                .dx = dx.data(),
                                .dgain = dgain.data()},
                               kRows, kWidth);
  std::vector<double> sums(kWidth, 1.0);
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto offset = row * kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      sums[i] += exact(dy)[offset + i] * exact(x)[offset + i] * rstd[row];
    }
    rms_norm_backward<TypeParam>({.dy = dy.data() + offset,
                                  .skip = skip.data() + offset,
                                  .x = x.data() + offset,
                                  .gain = gain.data(),
                                  .rstd = &rstd[row],
                                  .dx = alone.data(),
                                  .dgain = expected.data()},
                                 1, kWidth);
    EXPECT_EQ(exact(testing::row_of(dx, row, kWidth)), exact(alone)) << "row " << row;
  }
  const double slack = kRows * (kSlack + kInFloat<TypeParam>);
  EXPECT_TRUE(testing::is_near(dgain, sums, slack));
  EXPECT_TRUE(testing::is_near(expected, sums, slack));
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
