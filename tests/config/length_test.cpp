// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/config/length.h"

#include <gtest/gtest.h>

namespace evenkeel::config {
namespace {

using Unit = Length::Unit;

TEST(Length, CountsTokensInPowersOfAThousand) {
  EXPECT_EQ(parse_length("7t"), (Length{7, Unit::tokens}));
  EXPECT_EQ(parse_length("2kt"), (Length{2e3, Unit::tokens}));
  EXPECT_EQ(parse_length("100Mt"), (Length{1e8, Unit::tokens}));
  EXPECT_EQ(parse_length("8.388608Gt"), (Length{8'388'608'000, Unit::tokens}));
  EXPECT_EQ(parse_length("1Tt"), (Length{1e12, Unit::tokens}));
}

TEST(Length, TakesAPartOfTheRunInPercent) {
  EXPECT_EQ(parse_length("5%"), (Length{5, Unit::percent}));
  EXPECT_EQ(parse_length("0.25%"), (Length{0.25, Unit::percent}));
}

TEST(Length, HasNoOtherForm) {
  for (const auto* const text : {"", "t", "%", "2k", "5 %", " 5%", "-5%", "101%", "1e3t", "inf%",
                                 "nan%", "5%%", "100mt", "0x5t", "9999999Tt", "60"}) {
    EXPECT_EQ(parse_length(text), std::nullopt) << text;
  }
}

TEST(Length, IsWrittenSoThatItReadsBack) {
  EXPECT_EQ(length_text({60, Unit::steps}), "60");
  EXPECT_EQ(length_text({1e8, Unit::tokens}), "\"100Mt\"");
  EXPECT_EQ(length_text({8'388'608'000, Unit::tokens}), "\"8388608kt\"");
  EXPECT_EQ(length_text({1, Unit::tokens}), "\"1t\"");
  EXPECT_EQ(length_text({0, Unit::tokens}), "\"0t\"");
  EXPECT_EQ(length_text({5, Unit::percent}), "\"5%\"");
  EXPECT_EQ(length_text({0.3, Unit::percent}), "\"0.3%\"");
}

}  // namespace
}  // namespace evenkeel::config
