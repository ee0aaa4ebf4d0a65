// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/utf8.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachLength) {
  using namespace std::string_view_literals;
  for (const auto text : {""sv, "\x00\x7f"sv, "\xc2\x80\xdf\xbf"sv, "\xe0\xa0\x80\xef\xbf\xbf"sv,
                          "\xed\x9f\xbf\xee\x80\x80"sv, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"sv}) {
    EXPECT_FALSE(first_invalid_utf8(text)) << text;
  }
}

// The Unicode Standard, table 3-7: what lies just outside each row.
TEST(Utf8, NamesTheFirstByteThatIsNotWellFormed) {
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xe0\x9f\xbf",
                                "\xed\xa0\x80", "\xe2\x82", "\xe2\x82z", "\xf0\x8f\xbf\xbf",
                                "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xf1\x80\x80"}) {
    EXPECT_EQ(first_invalid_utf8("h\xc3\xa9" + bad), 3U);
    EXPECT_EQ(first_invalid_utf8("h\xc3\xa9" + bad + "tail"), 3U);
  }
}

TEST(Utf8, CountsTheBytesOfACharacter) {
  EXPECT_EQ(utf8_character_length("a\xff"), 1U);
  EXPECT_EQ(utf8_character_length("\xc3\xa9x"), 2U);
  EXPECT_EQ(utf8_character_length("\xe2\x82\xac"), 3U);
  EXPECT_EQ(utf8_character_length("\xf0\x9f\x98\x80"), 4U);
  EXPECT_EQ(utf8_character_length("\xe2\x82z"), 0U);
}

}  // namespace
}  // namespace evenkeel
