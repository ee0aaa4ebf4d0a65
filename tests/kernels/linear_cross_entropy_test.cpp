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

// -ln softmax(scale x)[target] and scale (softmax - onehot), at widths that fill no vector and ones
// that go over what is summed in float32.
TYPED_TEST(CrossEntropyRow, IsItsFormula) {
  for (const std::size_t width : {1, 2, 15, 16, 17, 31, 33, 70, 1023, 1024, 1041, 5000}) {
    for (const double scale : {1.0, 0.125, 3.0}) {
      const auto logits = wavy<TypeParam>(width, 0.3, 12);
      const std::size_t target = width / 2;
      const auto x = exact(logits);
      const double top = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const double value : x) sum += std::exp(scale * (value - top));
      const double loss = std::log(sum) - scale * (x[target] - top);

      auto got = logits;
      const LogitsRow<TypeParam> row{.logits = got.data(),
                                     .width = static_cast<std::int64_t>(width),
                                     .target = static_cast<std::int64_t>(target),
                                     .scale = scale,
                                     .cap = 0};
      // What z, the largest z and their difference are rounded by, in float32.
      const double slack = std::is_same_v<TypeParam, double> ? 1e-13 : 0x1p-24 * (8 + 48 * scale);
      EXPECT_NEAR(cross_entropy_row(row, false), loss, slack * (1 + loss)) << width;
      EXPECT_EQ(exact(got), x) << "without a gradient nothing is written";
      EXPECT_NEAR(cross_entropy_row(row, true), loss, slack * (1 + loss)) << width;
      const auto gradient = exact(got);
      for (std::size_t i = 0; i < width; ++i) {
        const double p = std::exp(scale * (x[i] - top)) / sum;
        const double expected = scale * (p - (i == target ? 1 : 0));
        const double bound =
            1.001 * testing::kRounding<TypeParam> * std::abs(expected) + scale * slack * p + 1e-300;
        ASSERT_NEAR(gradient[i], expected, bound) << i << " of " << width << ", " << scale;
      }
    }
  }
}

TYPED_TEST(CrossEntropyRow, IsZeroWithoutATarget) {
  auto logits = wavy<TypeParam>(70, 0.3);
  EXPECT_EQ(cross_entropy_row<TypeParam>(
                {.logits = logits.data(), .width = 70, .target = -1, .scale = 1, .cap = 0}, true),
            0);
  EXPECT_EQ(exact(logits), std::vector<double>(70, 0.0));
}

// A NaN among the logits is no loss that looks like one; nor is an infinite logit.
TYPED_TEST(CrossEntropyRow, IsNanForNanOrInfiniteLogits) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (const std::size_t at : {0, 35, 69}) {
      auto logits = wavy<TypeParam>(70, 0.3);
      store(&logits[at], bad);
      EXPECT_TRUE(std::isnan(cross_entropy_row<TypeParam>(
          {.logits = logits.data(), .width = 70, .target = 3, .scale = 1, .cap = 0}, true)))
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
  const double loss = cross_entropy_row<TypeParam>(
      {.logits = logits.data(), .width = 40, .target = 33, .scale = 1, .cap = 0}, true);
  EXPECT_NEAR(loss, std::log(2.0), 1e-6);
  EXPECT_NEAR(exact(logits)[3], 0.5, 1e-6);
  EXPECT_NEAR(exact(logits)[33], -0.5, 1e-6);
  EXPECT_EQ(exact(logits)[4], 0);
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
