// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/adamw.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/row_values.h"

namespace evenkeel::kernels::cpu {
namespace {

using testing::exact;
using testing::wavy;

constexpr AdamwFactors kFactors{.gradient_scale = 0.5,
                                .beta1 = 0.9,
                                .beta2 = 0.95,
                                .decay = 0.999,
                                .step_size = 0.03,
                                .root_scale = 1.2,
                                .epsilon = 1e-8};

template <typename T>
class Adamw : public ::testing::Test {};
using Types = ::testing::Types<double, float, Bf16>;
TYPED_TEST_SUITE(Adamw, Types);

// The four lines of kernels/adamw_factors.h, for every dtype of the gradient.
TYPED_TEST(Adamw, FollowsItsFormulaAtEveryCount) {
  for (std::size_t count = 0; count <= 70; ++count) {
    const auto old_weight = wavy<double>(count, 0.3);
    const auto old_first = wavy<double>(count, 0.5);
    std::vector<double> old_second;
    for (const double value : wavy<double>(count, 0.8)) old_second.push_back(value * value);
    const auto gradient = wavy<TypeParam>(count, 1.5);
    auto weight = old_weight;
    auto first = old_first;
    auto second = old_second;
    adamw(weight.data(), first.data(), second.data(), gradient.data(),
          static_cast<std::int64_t>(count), kFactors);

    for (std::size_t i = 0; i < count; ++i) {
      const double g = 0.5 * exact(gradient)[i];
      const double m = 0.9 * old_first[i] + 0.1 * g;
      const double v = 0.95 * old_second[i] + 0.05 * g * g;
      EXPECT_NEAR(first[i], m, 1e-15);
      EXPECT_NEAR(second[i], v, 1e-15);
      const double step = 0.03 * m / (1.2 * std::sqrt(v) + 1e-8);
      EXPECT_NEAR(weight[i], 0.999 * old_weight[i] - step, 1e-12 * (1 + std::abs(step)));
    }
  }
}

TEST(AdamwCopy, IsTheWeightRoundedToBfloat16) {
  const auto weight = wavy<float>(70, 0.3);
  std::vector<Bf16> copy(70);
  round_to_bf16(weight.data(), copy.data(), 70);
  EXPECT_EQ(exact(copy), exact(wavy<Bf16>(70, 0.3)));
}

TEST(AdamwCopy, ReplacesTheWeightOnlyWhereItsBitsDiffer) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  auto weight = wavy<float>(70, 0.3);
  weight[5] = kNan;
  auto expected = weight;
  std::vector<Bf16> copy(70);
  round_to_bf16(weight.data(), copy.data(), 70);
  const auto write = [&](std::size_t i, float value) {
    store(&copy[i], value);
    expected[i] = value;
  };
  write(3, -2);
  write(5, 7);
  write(69, kNan);
  take_over_bf16(copy.data(), weight.data(), 70);
  for (std::size_t i = 0; i < 69; ++i) EXPECT_EQ(weight[i], expected[i]) << i;
  EXPECT_TRUE(std::isnan(weight[69]));
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
