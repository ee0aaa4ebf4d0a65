// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/generated_text.h"

#include <gtest/gtest.h>

namespace evenkeel::generate {
namespace {

/// The text up to a stop string, of pieces; "|" shows where it ended.
std::string text_of(const std::vector<std::string>& pieces, const std::vector<std::string>& stops,
                    bool raw = false) {
  std::string out;
  GeneratedText text(stops, raw, [&](std::string_view part) { out += part; });
  for (const auto& piece : pieces) {
    if (text.add(piece)) continue;
    text.finish();
    return out + "|";
  }
  text.finish();
  return out;
}

TEST(GeneratedText, EndsBeforeTheFirstStopStringAlsoAcrossPieces) {
  EXPECT_EQ(text_of({"ab", "cd"}, {}), "abcd");
  EXPECT_EQ(text_of({"ab", "cd", "e"}, {"bcd"}), "a|");
  EXPECT_EQ(text_of({"abcd"}, {"d", "b"}), "a|");
  EXPECT_EQ(text_of({"aab"}, {"ab"}), "a|");
  EXPECT_EQ(text_of({"ab"}, {"bc"}), "ab") << "what waits is written at the end";
}

TEST(GeneratedText, WritesBytesOnlyIfRaw) {
  EXPECT_EQ(text_of({"\xc3", "\xa9", "\xff"}, {}), "\xc3\xa9\xef\xbf\xbd");
  EXPECT_EQ(text_of({"\xc3", "\xff"}, {}, /*raw=*/true), "\xc3\xff");
}

}  // namespace
}  // namespace evenkeel::generate
