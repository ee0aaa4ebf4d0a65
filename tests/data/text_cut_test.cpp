// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_cut.h"

#include <gtest/gtest.h>

namespace evenkeel::data {
namespace {

TEST(TextCut, IsAfterALineFeedWithoutWhiteSpaceOnEitherSide) {
  EXPECT_EQ(last_cut("a\nb"), 2u);
  EXPECT_EQ(last_cut("a\nb\nc"), 4u);
  EXPECT_EQ(last_cut("\xc3\xa9\n\xc3\xa9"), 3u);
}

TEST(TextCut, IsNotBetweenWhiteSpace) {
  for (const auto* const text :
       {"", "\n", "a\n", "\nb", "a \nb", "a\n b", "a\n\nb", "a\n\tb", "a\xc2\xa0\nb",
        "a\n\xe3\x80\x80"
        "b",
        "a\n\xe2\x80\xa8"
        "b"}) {
    EXPECT_EQ(last_cut(text), 0u) << text;
  }
  EXPECT_EQ(last_cut("a\nb \n\nc\n"), 2u);
}

TEST(TextCut, IsBeforeCrLfAfterALetter) {
  EXPECT_EQ(last_cut("a\r\nb"), 1u);
  EXPECT_EQ(last_cut("a.\r\nb"), 0u);  // the pattern of GPT-4 takes ".\r\n" for one word
  EXPECT_EQ(last_cut("a\r\n b"), 0u);
}

TEST(TextCut, IsNotBeforeHalfACharacter) {
  EXPECT_EQ(last_cut("a\n\xe3\x80"), 0u);  // may become U+3000, which is white space
}

}  // namespace
}  // namespace evenkeel::data
