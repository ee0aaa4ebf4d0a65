// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/text_cut.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "evenkeel/tokenizer/word_pattern.h"

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

TEST(TextCut, IsNotBeforeASlash) {
  EXPECT_EQ(last_cut("a!\n/b"), 0u);  // one word of GPT-4o's pattern
  EXPECT_EQ(last_cut("a!\n/b", tokenizer::LineCut::after), 0u);
}

TEST(TextCut, IsBetweenWhiteSpaceWhereThePatternAllowsIt) {
  using tokenizer::LineCut;
  EXPECT_EQ(last_cut("a.\r\n\nb", LineCut::after), 5u);
  EXPECT_EQ(last_cut("a.\r\n\nb", LineCut::before), 4u);
  EXPECT_EQ(last_cut("a\n b", LineCut::after), 0u);
  EXPECT_EQ(last_cut("\na", LineCut::before), 0u);
}

using tokenizer::WordPattern;

std::vector<std::string> words(const WordPattern& pattern, std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = pattern.end_of_match(text, at);
    out.emplace_back(text.substr(at, end - at));
  }
  return out;
}

/// The words of the two parts of a text.
std::vector<std::string> words_of_parts(const WordPattern& pattern, std::string_view text,
                                        std::size_t cut) {
  auto out = words(pattern, text.substr(0, cut));
  const auto rest = words(pattern, text.substr(cut));
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

TEST(TextCut, DoesNotChangeTheWordsOfAPattern) {
  const std::vector<std::string> some = {"\n", "\n", "\r\n",   " ",      "\t",    "a",
                                         "'s", "1",  ".",      "/",      "A",     "\r",
                                         "!",  "x",  "\u0085", "\u00e9", "\u3000"};
  std::mt19937 random(7);
  for (const auto known : WordPattern::known()) {
    const auto pattern = WordPattern::of(known, tokenizer::Syntax::perl);
    int cuts = 0;
    for (int i = 0; i < 20000; ++i) {
      std::string text;
      for (int k = 0; k < 12; ++k) text += some[random() % some.size()];
      for (const auto cut : {last_cut(text, pattern->line_cut()), last_cut(text)}) {
        if (cut == 0) continue;
        ++cuts;
        ASSERT_EQ(words_of_parts(*pattern, text, cut), words(*pattern, text)) << known;
      }
    }
    EXPECT_GT(cuts, 1000);
  }
}

TEST(TextCut, IsNotBeforeHalfACharacter) {
  EXPECT_EQ(last_cut("a\n\xe3\x80"), 0u);  // may become U+3000, which is white space
}

}  // namespace
}  // namespace evenkeel::data
