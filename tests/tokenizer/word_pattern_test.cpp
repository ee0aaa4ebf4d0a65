// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/word_pattern.h"

#include <gtest/gtest.h>

#include <random>

#include "evenkeel/tokenizer/regex.h"
#include "evenkeel/tokenizer/utf8_decode.h"

namespace evenkeel::tokenizer {
namespace {

using Ends = std::vector<std::size_t>;

Ends ends_by_regex(const Regex& regex, const std::string& text) {
  Regex::Scratch scratch;
  Ends out;
  for (std::size_t at = 0; at < text.size();) {
    const auto match = regex.find(text, at, scratch);
    if (!match || match->begin != at || match->end == at) return {};
    out.push_back(at = match->end);
  }
  return out;
}

Ends ends_by_matcher(const WordPattern& pattern, const std::string& text) {
  Ends out;
  for (std::size_t at = 0; at < text.size();) out.push_back(at = pattern.end_of_match(text, at));
  return out;
}

/// Strings of pieces that the patterns distinguish, and of any code points.
std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "'s",     "'S",     "'ll",    "'Ve",    "'r",      "'",      " ",      "  ",
      "\n",     "\r\n",   "\t",     "a",      "bC",      "D",      "12",     "1",
      "/",      "-",      "\u00e9", "\u0301", "'\u017f", "\u00a0", "\u3000", "\u2028",
      "\u6f22", "\u01c5", "\u02b0", "\u00bd", "\u0663",  "\u180e"};
  std::string out;
  const auto count = random() % 12;
  for (std::size_t at = 0; at < count; ++at) {
    const auto any = random() % 20;
    auto code = static_cast<char32_t>(random() % 0x110000);
    if (code >= 0xd800 && code < 0xe000) code = 'x';
    any == 0 ? append_utf8(out, code) : void(out += kPieces[random() % kPieces.size()]);
  }
  return out;
}

TEST(WordPattern, MatchesWhatTheRegularExpressionMatches) {
  for (const auto syntax : {Syntax::ruby, Syntax::perl}) {
    for (const auto pattern : WordPattern::known()) {
      const auto matcher = WordPattern::of(pattern, syntax);
      if (!matcher) continue;
      const Regex regex(pattern, syntax, "pattern");
      std::mt19937 random(11);
      for (int repeat = 0; repeat < 5000; ++repeat) {
        const auto text = random_text(random);
        ASSERT_EQ(ends_by_matcher(*matcher, text), ends_by_regex(regex, text)) << pattern << '\n'
                                                                               << text;
      }
    }
  }
}

TEST(WordPattern, MatchesEachCodePointOfTwoPlanesAsTheRegularExpression) {
  const std::vector<std::string_view> patterns = {kGpt2Pattern, kGpt4Pattern, kO200kPattern};
  for (const auto pattern : patterns) {
    const auto matcher = WordPattern::of(pattern, Syntax::ruby);
    ASSERT_TRUE(matcher);
    const Regex regex(pattern, Syntax::ruby, "pattern");
    std::string text;
    for (char32_t code = 0; code < 0x20000; ++code) {
      if (code >= 0xd800 && code < 0xe000) continue;
      text += 'A';
      append_utf8(text, code);
      append_utf8(text, code);
      text += ' ';
      append_utf8(text, code);
      text += '1';
    }
    EXPECT_EQ(ends_by_matcher(*matcher, text), ends_by_regex(regex, text)) << pattern;
  }
}

TEST(WordPattern, KnowsOnlyExactPatterns) {
  EXPECT_FALSE(WordPattern::of("\\p{L}+", Syntax::ruby));
  EXPECT_FALSE(WordPattern::of(kTiktokenGpt4Pattern, Syntax::ruby));
  EXPECT_TRUE(WordPattern::of(kTiktokenGpt4Pattern, Syntax::perl));
}

}  // namespace
}  // namespace evenkeel::tokenizer
