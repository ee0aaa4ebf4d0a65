// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/base/replace_all.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

TEST(ReplaceAll, ReplacesWithoutOverlap) {
  EXPECT_EQ(replace_all("a   b", "  ", " "), "a  b");
  EXPECT_EQ(replace_all("abab", "ab", ""), "");
  EXPECT_EQ(replace_all("aaa", "a", "aa"), "aaaaaa");
  EXPECT_EQ(replace_all("abc", "d", "e"), "abc");
  EXPECT_EQ(replace_all("", "d", "e"), "");
}

}  // namespace
}  // namespace evenkeel
