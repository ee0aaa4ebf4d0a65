// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace evenkeel::report {
namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> out;
  for (const auto& tick : ticks) out.push_back(tick.label);
  return out;
}

using Labels = std::vector<std::string>;

TEST(LinearTicks, AreMultiplesOfOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_EQ(labels(linear_ticks(0, 400, 10)),
            (Labels{"0", "50", "100", "150", "200", "250", "300", "350", "400"}));
  EXPECT_EQ(labels(linear_ticks(0.3, 1.7, 3)), (Labels{"0.5", "1.0", "1.5"}));
  EXPECT_EQ(labels(linear_ticks(-3, 3, 4)), (Labels{"-2", "0", "2"}));
}

TEST(LinearTicks, ShareTheirDecimals) {
  EXPECT_EQ(labels(linear_ticks(0.992, 1.021, 3)), (Labels{"1.00", "1.01", "1.02"}));
}

TEST(LinearTicks, GetALetterFromTenThousandOnAndAnExponentBelowATenThousandth) {
  EXPECT_EQ(labels(linear_ticks(0, 27000, 3)), (Labels{"0", "10k", "20k"}));
  EXPECT_EQ(labels(linear_ticks(0, 5e7, 5)), (Labels{"0", "10M", "20M", "30M", "40M", "50M"}));
  EXPECT_EQ(labels(linear_ticks(0, 6e-5, 3)), (Labels{"0", "2e-5", "4e-5", "6e-5"}));
}

TEST(LinearTicks, HaveAnExponentInPlaceOfALetterFrom1e15On) {
  EXPECT_EQ(labels(linear_ticks(0, 3e13, 3)), (Labels{"0", "10T", "20T", "30T"}));
  EXPECT_EQ(labels(linear_ticks(0, 2e31, 2)), (Labels{"0", "1e31", "2e31"}));
}

TEST(LinearTicks, AreNeverMoreThanOnePlusTheWanted) {
  for (double high = 1; high < 1e6; high *= 1.37) {
    const auto count = linear_ticks(0, high, 5).size();
    EXPECT_LE(count, 6u) << high;
    EXPECT_GE(count, 3u) << high;
  }
}

TEST(LogarithmicTicks, ArePowersOfTenOverManyDecades) {
  EXPECT_EQ(labels(logarithmic_ticks(1e-4, 1, 5)), (Labels{"0.0001", "0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(labels(logarithmic_ticks(1e-8, 1, 4)), (Labels{"1e-8", "1e-6", "0.0001", "0.01", "1"}));
}

TEST(LogarithmicTicks, HaveAnExponentInPlaceOfALetterFrom1e15On) {
  EXPECT_EQ(labels(logarithmic_ticks(1, 1e20, 4)), (Labels{"1", "100k", "10G", "1e15", "1e20"}));
  EXPECT_EQ(labels(logarithmic_ticks(1e12, 1e16, 5)),
            (Labels{"1000G", "10T", "100T", "1e15", "1e16"}));
}

TEST(ShortNumber, HasAnExponentWithoutPadding) {
  EXPECT_EQ(short_number(5160951505.7528), "5.161e9");
  EXPECT_EQ(short_number(-1e31), "-1e31");
  EXPECT_EQ(short_number(3e-5), "3e-5");
  EXPECT_EQ(short_number(1e-300), "1e-300");
  EXPECT_EQ(short_number(0.25), "0.25");
}

TEST(LogarithmicTicks, FillShortRangesWithPartsOfADecade) {
  EXPECT_EQ(labels(logarithmic_ticks(0.3, 6, 5)), (Labels{"0.5", "1", "2", "5"}));
  EXPECT_EQ(labels(logarithmic_ticks(0.02, 6, 5)), (Labels{"0.03", "0.1", "0.3", "1", "3"}));
}

TEST(LogarithmicTicks, AreLinearWhereEvenPartsAreFew) {
  EXPECT_EQ(labels(logarithmic_ticks(0.42, 1.7, 3)), (Labels{"0.5", "1.0", "1.5"}));
}

TEST(Axis, PlacesItsEndsAtZeroAndOne) {
  const auto linear = linear_axis(2, 6, 4);
  EXPECT_DOUBLE_EQ(linear.place(2), 0);
  EXPECT_DOUBLE_EQ(linear.place(3), 0.25);
  const auto logarithmic = logarithmic_axis(0.01, 100, 4);
  EXPECT_DOUBLE_EQ(logarithmic.place(100), 1);
  EXPECT_NEAR(logarithmic.place(1), 0.5, 1e-12);  // log(1 / 0.01) / log(100 / 0.01)
}

TEST(Axis, PutsASingleValueInTheMiddle) {
  EXPECT_DOUBLE_EQ(linear_axis(3, 3, 4).place(3), 0.5);
  EXPECT_DOUBLE_EQ(linear_axis(0, 0, 4).place(0), 0.5);
  EXPECT_NEAR(logarithmic_axis(3, 3, 4).place(3), 0.5, 1e-12);
  EXPECT_NEAR(linear_axis(1, 1 + 1e-15, 4).place(1), 0.5, 1e-9);
}

/// Checks that the axis is finite and has at most wanted + 1 ticks.
void expect_drawable(const Axis& axis, int wanted) {
  EXPECT_LT(axis.low, axis.high);
  EXPECT_TRUE(std::isfinite(axis.low) && std::isfinite(axis.high)) << axis.low << " " << axis.high;
  EXPECT_LE(axis.ticks.size(), static_cast<std::size_t>(wanted) + 1);
  for (const auto& tick : axis.ticks) {
    EXPECT_TRUE(std::isfinite(axis.place(tick.at)));
    EXPECT_LE(tick.label.size(), 16u) << tick.label;
  }
}

TEST(Axis, IsFiniteForEveryRange) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> ends = {-kInfinity, -1.7e308, -1e300,  -1,       -1e-300, -5e-324,
                                    0,          5e-324,   1e-310,  1e-300,   1,       1 + 1e-15,
                                    1e15,       1e300,    1.7e308, kInfinity};
  constexpr int kWanted = 6;
  for (const double low : ends) {
    for (const double high : ends) {
      if (low > high) continue;
      expect_drawable(linear_axis(low, high, kWanted), kWanted);
      if (low > 0) expect_drawable(logarithmic_axis(low, high, kWanted), kWanted);
    }
  }
}

}  // namespace
}  // namespace evenkeel::report
