// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

namespace evenkeel {
namespace {

TEST(Shortest, ReadsBackAsTheSameBits) {
  for (const double value : {0.1, 1.0 / 3, 3e-5, 1e300, -2.5, 0x1p-1074}) {
    EXPECT_EQ(std::strtod(shortest(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(400), "400.0");
}

TEST(WithDecimals, HasNoSignOfNaN) {
  EXPECT_EQ(with_decimals(1.25, 4), "1.2500");
  EXPECT_EQ(with_decimals(-0.5, 1), "-0.5");
  EXPECT_EQ(with_decimals(-std::nan(""), 4), "nan");
  EXPECT_EQ(with_decimals(-1e308, 2).size(), 313);
}

TEST(Percent, HasThreeDigits) {
  EXPECT_EQ(percent(0.125), "12.5 %");
  EXPECT_EQ(percent(0.00042), "0.042 %");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(1), "100 %");
}

TEST(WithCommas, GroupsByThree) {
  EXPECT_EQ(with_commas(7), "7");
  EXPECT_EQ(with_commas(-123), "-123");
  EXPECT_EQ(with_commas(-1234), "-1,234");
  EXPECT_EQ(with_commas(151346432), "151,346,432");
}

TEST(WithUnit, PicksALetter) {
  EXPECT_EQ(with_unit(999), "999");
  EXPECT_EQ(with_unit(151346432), "151.3M");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
}

TEST(Duration, IsMinutesAndSeconds) {
  EXPECT_EQ(duration_text(75.2), "1:15");
  EXPECT_EQ(duration_text(3700), "1:01:40");
  EXPECT_EQ(duration_text(std::nan("")), "-");
}

}  // namespace
}  // namespace evenkeel
