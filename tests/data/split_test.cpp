// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/split.h"

#include <gtest/gtest.h>

namespace evenkeel::data {
namespace {

using Parts = std::pair<Documents, Documents>;

TEST(Split, CutsSeveralDocumentsAtTheEndOfOneThatFits) {
  EXPECT_EQ(split({"aaaa", "bbbb", "cc"}, 0.2), (Parts{{"aaaa", "bbbb"}, {"cc"}}));
  EXPECT_EQ(split({"aaaa", "bbbb", "cc"}, 0.6), (Parts{{"aaaa"}, {"bbbb", "cc"}}));
  // Wanted are 5.7 bytes; 6 are hardly more.
  EXPECT_EQ(split({"aaaa", "bbbb", "cc"}, 0.57), (Parts{{"aaaa"}, {"bbbb", "cc"}}));
}

TEST(Split, CutsTheDocumentThatTheCutFallsInto) {
  EXPECT_EQ(split({"aa", "one\ntwo\nthree\nfour\n"}, 0.2),
            (Parts{{"aa", "one\ntwo\nthree\n"}, {"four\n"}}));
  EXPECT_EQ(split({"a\nb\nc\nd\n", "ee"}, 0.6), (Parts{{"a\nb\n"}, {"c\nd\n", "ee"}}));
}

TEST(Split, OfManySmallDocumentsIsWithinOneOfWhatIsWanted) {
  const Documents many(1000, "eight by");
  const auto [front, back] = split(many, 0.1);
  EXPECT_EQ(front, Documents(900, "eight by"));
  EXPECT_EQ(back, Documents(100, "eight by"));
}

TEST(Split, KeepsTextToTrainOn) {
  EXPECT_EQ(split({"a\na\n", "bbbbbbbb"}, 0.8), (Parts{{"a\n"}, {"a\n", "bbbbbbbb"}}));
}

TEST(Split, CutsASingleDocumentAtTheEndOfALine) {
  EXPECT_EQ(split({"one\ntwo\nthree\nfour\n"}, 0.4), (Parts{{"one\ntwo\n"}, {"three\nfour\n"}}));
}

TEST(Split, CutsALineWhoseBeginningIsFar) {
  const std::string title = "title\n", line(94, 'x');
  EXPECT_EQ(split({title + line}, 0.1),
            (Parts{{title + line.substr(0, 84)}, {line.substr(0, 10)}}));
}

TEST(Split, CutsALineAtTheEndOfACharacter) {
  // 6 bytes, cut after 4.8: byte 4 begins the third character.
  EXPECT_EQ(split({"\xc3\xa9\xc3\xa8\xc3\xa0"}, 0.2), (Parts{{"\xc3\xa9\xc3\xa8"}, {"\xc3\xa0"}}));
  EXPECT_EQ(split({"\xc3\xa9\xc3\xa8\xc3\xa0"}, 0.4), (Parts{{"\xc3\xa9"}, {"\xc3\xa8\xc3\xa0"}}));
}

}  // namespace
}  // namespace evenkeel::data
