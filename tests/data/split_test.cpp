// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/split.h"

#include <gtest/gtest.h>

namespace evenkeel::data {
namespace {

using Parts = std::pair<Documents, Documents>;

TEST(Split, CutsSeveralDocumentsAtTheEndOfOne) {
  EXPECT_EQ(split({"aaaa", "bbbb", "cc"}, 0.1), (Parts{{"aaaa", "bbbb"}, {"cc"}}));
  EXPECT_EQ(split({"aaaa", "bbbb", "cc"}, 0.3), (Parts{{"aaaa"}, {"bbbb", "cc"}}));
}

TEST(Split, KeepsAtLeastOneOfSeveralDocumentsToTrainOn) {
  EXPECT_EQ(split({"a", "bbbbbbbb"}, 0.99), (Parts{{"a"}, {"bbbbbbbb"}}));
}

TEST(Split, CutsASingleDocumentAtTheEndOfALine) {
  EXPECT_EQ(split({"one\ntwo\nthree\nfour\n"}, 0.4), (Parts{{"one\ntwo\n"}, {"three\nfour\n"}}));
}

TEST(Split, CutsALineAtTheEndOfACharacter) {
  // 6 bytes, cut after 4.8: byte 4 begins the third character.
  EXPECT_EQ(split({"\xc3\xa9\xc3\xa8\xc3\xa0"}, 0.2), (Parts{{"\xc3\xa9\xc3\xa8"}, {"\xc3\xa0"}}));
  EXPECT_EQ(split({"\xc3\xa9\xc3\xa8\xc3\xa0"}, 0.4), (Parts{{"\xc3\xa9"}, {"\xc3\xa8\xc3\xa0"}}));
}

}  // namespace
}  // namespace evenkeel::data
