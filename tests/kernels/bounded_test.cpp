// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "evenkeel/kernels/cpu/portable/bounded_functions.h"

namespace evenkeel::kernels::cpu {
namespace {

// In units of the last place of what the library finds in long double.
void expect_near(double found, long double wanted, double units, double x) {
  const auto unit = std::ldexp(1.0L, std::ilogb(wanted == 0 ? 1e-300L : wanted) - 52);
  EXPECT_LE(std::abs(static_cast<long double>(found) - wanted), units * unit) << x;
}

TEST(BoundedFunctions, MatchTheStandardLibrary) {
  constexpr long double kTwoOverRootPi = 1.12837916709551257390L;
  for (int i = -4000; i <= 4000; ++i) {
    // Dense around 0 and around the places where one form takes over from another.
    for (const double x : {i * 0x1p-10, i * 0x1p-8, i * 0x1p-7, i * 1e-9}) {
      const long double wide = x;
      const auto t = tanh_with_slope(x);
      expect_near(t.value, std::tanh(wide), 16, x);
      expect_near(t.slope, 1 / (std::cosh(wide) * std::cosh(wide)), 16, x);
      const auto e = erf_with_slope(x);
      expect_near(e.value, std::erf(wide), 4, x);
      // Its exponent is rounded; and 0 it is where that is below -700.
      const auto slope = x * x > 700 ? 0 : kTwoOverRootPi * std::exp(-wide * wide);
      expect_near(e.slope, slope, 4 + 2 * x * x, x);
    }
  }
}

TEST(BoundedFunctions, SaturateAtOne) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double x : {30.0, 1e6, 1e300, kInfinity}) {
    EXPECT_EQ(tanh_with_slope(x).value, 1);
    EXPECT_EQ(tanh_with_slope(-x).value, -1);
    EXPECT_EQ(erf_with_slope(x).value, 1);
    EXPECT_EQ(erf_with_slope(-x).value, -1);
    EXPECT_LT(tanh_with_slope(x).slope, 1e-25);
    EXPECT_LT(erf_with_slope(x).slope, 1e-300);
  }
  for (const double nan :
       {std::numeric_limits<double>::quiet_NaN(), std::bit_cast<double>(~0ULL)}) {
    EXPECT_TRUE(std::isnan(tanh_with_slope(nan).value));
    EXPECT_TRUE(std::isnan(erf_with_slope(nan).value));
  }
}

TEST(BoundedFunctions, ExponentialUnderflowsToZero) {
  for (int i = 0; i < 7000; ++i) {
    for (const double x : {-0.1 * i, -i * 0x1p-13}) {
      expect_near(exp_nonpositive_simd(x), std::exp(static_cast<long double>(x)), 2, x);
    }
  }
  EXPECT_EQ(exp_nonpositive_simd(0), 1);
  EXPECT_EQ(exp_nonpositive_simd(-701), 0);
  EXPECT_EQ(exp_nonpositive_simd(-std::numeric_limits<double>::infinity()), 0);
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
