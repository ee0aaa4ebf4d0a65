// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/white_space.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

// The expected lengths are those of the characters with str.isspace() in Python 3.11.

TEST(WhiteSpace, HasItsLengthInBytes) {
  EXPECT_EQ(white_space_at_start(" a"), 1U);
  EXPECT_EQ(white_space_at_start("\x1c"), 1U);
  EXPECT_EQ(white_space_at_start("\xc2\x85"
                                 "a"),
            2U);
  EXPECT_EQ(white_space_at_end("a\xe3\x80\x80"), 3U);
  EXPECT_EQ(white_space_at_end("a\v"), 1U);
}

TEST(WhiteSpace, IsNoOtherCharacter) {
  EXPECT_EQ(white_space_at_start("a "), 0U);
  EXPECT_EQ(white_space_at_end(" a"), 0U);
  EXPECT_EQ(white_space_at_end("\xe2\x80\x8b"), 0U);  // zero-width space
  EXPECT_EQ(white_space_at_start("\x1b"), 0U);
  EXPECT_EQ(white_space_at_start(""), 0U);
  EXPECT_EQ(white_space_at_end(""), 0U);
}

}  // namespace
}  // namespace evenkeel
