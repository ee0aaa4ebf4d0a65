// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/neighbors.h"

#include <gtest/gtest.h>

#include <string>

namespace evenkeel::tokenizer {
namespace {

std::string divided(const Neighbors& neighbors, std::string_view word) {
  std::string out;
  neighbors.divide(word, [&](std::string_view part) { out.append(part).append("|"); });
  return out;
}

TEST(Neighbors, AreThoseInATokenInTheirOrder) {
  Neighbors neighbors;
  neighbors.add("ab\xe2\x96\x81\xe6\xbc\xa2");
  neighbors.add("c");
  neighbors.add("");
  EXPECT_TRUE(neighbors.contains('a', 'b'));
  EXPECT_FALSE(neighbors.contains('b', 'a'));
  EXPECT_TRUE(neighbors.contains('b', 0x2581));
  EXPECT_TRUE(neighbors.contains(0x2581, 0x6f22));
  EXPECT_FALSE(neighbors.contains(0x6f22, 0x2581));
  EXPECT_FALSE(neighbors.contains('c', 'c'));
}

TEST(Neighbors, DivideAWordBetweenOtherPairs) {
  Neighbors neighbors;
  neighbors.add("ab");
  neighbors.add("\xc3\xa9\xc3\xa9");
  EXPECT_EQ(divided(neighbors, "a"), "a|");
  EXPECT_EQ(divided(neighbors, "abab"), "ab|ab|");
  EXPECT_EQ(divided(neighbors, "ba\xc3\xa9\xc3\xa9\xc3\xa9x"), "b|a|\xc3\xa9\xc3\xa9\xc3\xa9|x|");
}

}  // namespace
}  // namespace evenkeel::tokenizer
