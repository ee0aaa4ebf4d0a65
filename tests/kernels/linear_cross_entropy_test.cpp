// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::wavy;

template <typename T>
class CrossEntropyRow : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(CrossEntropyRow, Types);

struct RowRule {
  double scale = 1, cap = 0, z_loss = 0;
};

/// The loss of a row and its gradient, in double.
struct RowFormula {
  double loss = 0, lse = 0;
  std::vector<double> gradient, p;

  RowFormula(const std::vector<double>& x, std::size_t target, const RowRule& rule)
      : gradient(x.size()), p(x.size()) {
    const auto capped = [&](double logit) {
      const double z = rule.scale * logit;
      return rule.cap == 0 ? z : rule.cap * std::tanh(z / rule.cap);
    };
    const double top = capped(*std::max_element(x.begin(), x.end()));
    double sum = 0;
    for (const double logit : x) sum += std::exp(capped(logit) - top);
    lse = std::log(sum) + top;
    loss = std::log(sum) - (capped(x[target]) - top);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double z = capped(x[i]), tanh = rule.cap == 0 ? 0 : z / rule.cap;
      p[i] = std::exp(z - top) / sum;
      gradient[i] = rule.scale * (1 - tanh * tanh) *
                    ((1 + 2 * rule.z_loss * lse) * p[i] - (i == target ? 1 : 0));
    }
  }
};

template <typename T>
void expect_formula(std::size_t width, const RowRule& rule) {
  const auto logits = wavy<T>(width, 0.3, 12);
  const std::size_t target = width / 2;
  const auto x = exact(logits);
  const RowFormula formula(x, target, rule);
  auto got = logits;
  const LogitsRow<T> row{.logits = got.data(),
                         .width = static_cast<std::int64_t>(width),
                         .target = static_cast<std::int64_t>(target),
                         .scale = rule.scale,
                         .cap = rule.cap,
                         .z_loss = rule.z_loss};
  // What z, the largest z and their difference are rounded by, in float32.
  const double slack = std::is_same_v<T, double> ? 1e-13 : 0x1p-24 * (8 + 48 * rule.scale);
  const auto expect_losses = [&](const RowLoss& loss) {
    EXPECT_NEAR(loss.cross_entropy, formula.loss, slack * (1 + formula.loss)) << width;
    const double size = std::abs(formula.lse) + 1;
    EXPECT_NEAR(loss.squared_lse, formula.lse * formula.lse, 2 * slack * size * size) << width;
  };
  expect_losses(cross_entropy_row(row, false));
  EXPECT_EQ(exact(got), x) << "without a gradient nothing is written";
  expect_losses(cross_entropy_row(row, true));
  const auto gradient = exact(got);
  const double factor = 1 + 2 * rule.z_loss * (std::abs(formula.lse) + 1);
  for (std::size_t i = 0; i < width; ++i) {
    const double expected = formula.gradient[i];
    // A cap: the slope 1 - tanh^2 has the rounding of tanh.
    const double slope = rule.cap == 0 ? 0 : 8 * slack * rule.scale * (i == target ? 1 : 0);
    const double bound = 1.001 * testing::kRounding<T> * std::abs(expected) +
                         (rule.cap == 0 ? 1 : 8) * rule.scale * slack * factor * formula.p[i] +
                         slope + 1e-300;
    ASSERT_NEAR(gradient[i], expected, bound) << i << " of " << width << ", " << rule.scale;
  }
}

// -ln softmax(scale x)[target] and scale (softmax - onehot), at widths that fill no vector and ones
// that go over what is summed in float32.
TYPED_TEST(CrossEntropyRow, IsItsFormula) {
  for (const std::size_t width : {1, 2, 15, 16, 17, 31, 33, 70, 1023, 1024, 1041, 5000}) {
    for (const double scale : {1.0, 0.125, 3.0}) expect_formula<TypeParam>(width, {.scale = scale});
  }
}

// The z-loss: lse^2, and scale (1 - tanh^2) ((1 + 2 c lse) softmax - onehot).
TYPED_TEST(CrossEntropyRow, AddsTheZLoss) {
  for (const std::size_t width : {1, 17, 70, 1041}) {
    for (const double z_loss : {1e-5, 0.01, 0.5}) {
      expect_formula<TypeParam>(width, {.scale = 0.125, .z_loss = z_loss});
      expect_formula<TypeParam>(width, {.scale = 3, .z_loss = z_loss});
      expect_formula<TypeParam>(width, {.scale = 0.5, .cap = 2, .z_loss = z_loss});
    }
  }
}

TYPED_TEST(CrossEntropyRow, IsZeroWithoutATarget) {
  auto logits = wavy<TypeParam>(70, 0.3);
  const auto loss = cross_entropy_row<TypeParam>(
      {.logits = logits.data(), .width = 70, .target = -1, .scale = 1, .cap = 0, .z_loss = 1},
      true);
  EXPECT_EQ(loss.cross_entropy, 0);
  EXPECT_EQ(loss.squared_lse, 0);
  EXPECT_EQ(exact(logits), std::vector<double>(70, 0.0));
}

// A NaN among the logits is no loss that looks like one; nor is an infinite logit.
TYPED_TEST(CrossEntropyRow, IsNanForNanOrInfiniteLogits) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const std::size_t at : {0, 35, 69}) {
      auto logits = wavy<TypeParam>(70, 0.3);
      store(&logits[at], bad);
      EXPECT_TRUE(std::isnan(
          cross_entropy_row<TypeParam>(
              {.logits = logits.data(), .width = 70, .target = 3, .scale = 1, .cap = 0}, true)
              .cross_entropy))
          << at;
    }
  }
}

// Logits far below the largest one get probability 0; the other probabilities do not change.
TYPED_TEST(CrossEntropyRow, StaysFiniteForLogitsFarApart) {
  std::vector<TypeParam> logits(40);
  for (auto& each : logits) store(&each, -1e30);
  store(&logits[3], 1e4);
  store(&logits[33], 1e4);
  const double loss =
      cross_entropy_row<TypeParam>(
          {.logits = logits.data(), .width = 40, .target = 33, .scale = 1, .cap = 0}, true)
          .cross_entropy;
  EXPECT_NEAR(loss, std::log(2.0), 1e-6);
  EXPECT_NEAR(exact(logits)[3], 0.5, 1e-6);
  EXPECT_NEAR(exact(logits)[33], -0.5, 1e-6);
  EXPECT_EQ(exact(logits)[4], 0);
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
