// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {
namespace {

Bf16 rounded(double value) {
  Bf16 result{};
  store(&result, value);
  return result;
}

double read(Bf16 value) {
  return load(&value);
}

TEST(Bf16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(rounded(1.0).bits, 0x3f80);
  EXPECT_EQ(rounded(-2.0).bits, 0xc000);
  EXPECT_EQ(read({0x4049}), 3.140625);
}

// Every finite bfloat16 is its own rounding, so no value moves when it is stored again.
TEST(Bf16, KeepsEveryValueThatItCanHold) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(read(value))) continue;
    ASSERT_EQ(rounded(read(value)).bits, bits);
  }
}

// Between neighbours a and b: below the middle to a, above it to b, the middle itself to the even.
TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0x0080; bits < 0x7f7f; ++bits) {
    const double low = read({bits});
    const double high = read({static_cast<std::uint16_t>(bits + 1)});
    const double middle = (low + high) / 2;
    const double quarter = (high - low) / 4;
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1));
    ASSERT_EQ(rounded(middle - quarter).bits, bits);
    ASSERT_EQ(rounded(middle).bits, even);
    ASSERT_EQ(rounded(middle + quarter).bits, bits + 1);
  }
}

TEST(Bf16, OverflowsToInfinityAndKeepsNan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(read(rounded(3.4e38)), kInfinity);
  EXPECT_EQ(read(rounded(-kInfinity)), -kInfinity);
  EXPECT_TRUE(std::isnan(read(rounded(std::numeric_limits<double>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(read(rounded(std::bit_cast<float>(0x7f800001U)))));  // payload cut off
  EXPECT_TRUE(std::isnan(read(rounded(std::bit_cast<float>(0x7fffffffU)))));  // would wrap around
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
