// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/display_text.h"

#include <gtest/gtest.h>

namespace evenkeel::data {
namespace {

const std::string kReplaced = "\xef\xbf\xbd";

TEST(DisplayText, LeavesValidTextAsItIs) {
  for (const std::string valid : {"", "abc\n\td", "\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80"}) {
    EXPECT_EQ(display_text(valid), valid);
  }
}

// The examples of the Unicode Standard, table 3-8, and truncated characters.
TEST(DisplayText, ReplacesEachMaximalPartOfABrokenCharacter) {
  EXPECT_EQ(display_text("\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64"),
            "a" + kReplaced + kReplaced + kReplaced + "b" + kReplaced + "c" + kReplaced +
                kReplaced + "d");
  EXPECT_EQ(display_text("\xc0\xaf"), kReplaced + kReplaced);
  EXPECT_EQ(display_text("\xed\xa0\x80"), kReplaced + kReplaced + kReplaced);
  EXPECT_EQ(display_text("x\xe6\xbc"), "x" + kReplaced);
}

TEST(DisplayText, ReplacesControlCharacters) {
  EXPECT_EQ(display_text(std::string("a\x1b[2J\x7f\r\0b", 9)),
            "a" + kReplaced + "[2J" + kReplaced + kReplaced + kReplaced + "b");
  EXPECT_EQ(display_text("\xc2\x9b"), kReplaced);
  EXPECT_EQ(display_text("\xc2\xa0"), "\xc2\xa0");
}

TEST(DisplayStream, KeepsControlCharactersForAProgram) {
  DisplayStream stream(Controls::kept);
  EXPECT_EQ(stream.add("a\r\x1b\xff"), "a\r\x1b\xef\xbf\xbd");
}

TEST(DisplayStream, GivesTheSameTextForAnyPieces) {
  const std::string bytes = "h\xc3\xa9 \xf0\x9f\x98\x80\xf0\x9f!\xe6\xbc\xa2\xff";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    DisplayStream stream;
    auto out = stream.add(bytes.substr(0, cut));
    out += stream.add(bytes.substr(cut));
    EXPECT_EQ(out + stream.finish(), display_text(bytes)) << cut;
  }
}

}  // namespace
}  // namespace evenkeel::data
