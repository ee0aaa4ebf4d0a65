// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/tokenizer/regex.h"

#include <gtest/gtest.h>

#include "data/refusal.h"
#include "evenkeel/tokenizer/code_set.h"
#include "evenkeel/tokenizer/regex_syntax.h"

namespace evenkeel::tokenizer {
namespace {

/// The first match of a pattern in a text; "none" without one.
std::string first_match(const std::string& pattern, const std::string& text,
                        Syntax syntax = Syntax::ruby) {
  Regex::Scratch scratch;
  const auto found = Regex(pattern, syntax, "pattern").find(text, 0, scratch);
  return found ? text.substr(found->begin, found->end - found->begin) : "none";
}

std::string refused_pattern(const std::string& pattern) {
  return data::refusal([&] { Regex(pattern, Syntax::ruby, "p"); });
}

TEST(Regex, HasTheClassesOfUnicode16) {
  EXPECT_EQ(first_match("\\p{L}+", "1\U000105c0"), "\U000105c0");  // Todhri, new in Unicode 16
  EXPECT_EQ(first_match("\\s", "\u180e"), "none");                 // a space up to Unicode 6.2
  EXPECT_EQ(first_match("[^\\s\\p{L}]+", "a \u00bd-b"), "\u00bd-");
  EXPECT_EQ(first_match("\\P{L}+", "ab12c"), "12");
  EXPECT_EQ(first_match("\\p{^L}+", "ab12c"), "12");
  EXPECT_EQ(first_match("\\S+", " a\u3000"), "a");
  EXPECT_EQ(first_match("\\d+", "a\u06631"), "\u06631");
  EXPECT_EQ(category_set("L")->ranges().size(), 677U);
  EXPECT_EQ(category_set("N")->ranges().size(), 144U);
  EXPECT_EQ(space_set().ranges().size(), 10U);
  EXPECT_FALSE(category_set("Xx"));
}

TEST(Regex, HasRubysSyntaxOrPerls) {
  EXPECT_EQ(first_match("\\d{1,2}+5", "12345", Syntax::ruby), "12345");
  EXPECT_EQ(first_match("\\d{1,2}+5", "12345", Syntax::perl), "345");
  EXPECT_EQ(first_match("a{,2}b", "aaab"), "aab");
  EXPECT_EQ(first_match("a$", "a\nb", Syntax::ruby), "a");
  EXPECT_EQ(first_match("a$", "a\n", Syntax::perl), "none");
  EXPECT_EQ(first_match("^b", "a\nb", Syntax::ruby), "b");
  EXPECT_EQ(first_match("^b", "a\nb", Syntax::perl), "none");
  EXPECT_EQ(first_match(".+", "ab\ncd"), "ab");
}

TEST(Regex, MatchesCaselessGroupsAsUnicodeDoes) {
  EXPECT_EQ(first_match("(?i:'s)", "x'S"), "'S");
  EXPECT_EQ(first_match("(?i:'s)", "x'\u017f"), "'\u017f");
  EXPECT_EQ(first_match("(?i:'[sk])", "x'\u212a"), "'\u212a");
  EXPECT_EQ(first_match("'s", "x'S"), "none");
}

TEST(Regex, ReadsEscapesAndRanges) {
  EXPECT_EQ(first_match("[\\x61-\\x{63}\\u0064]+", "xabcdz"), "abcd");
  EXPECT_EQ(first_match("[\u4e00-\u9fff]+", "a\u6f22\u5b57b"), "\u6f22\u5b57");
  EXPECT_EQ(first_match("[\\]\\-a-]+", "x]-a"), "]-a");
  EXPECT_EQ(first_match("\\.\\(\\|", "a.(|"), ".(|");
  EXPECT_EQ(first_match("(?<=a)b(?=c)(?!d)(?<!x)", "xb abc"), "b");
  EXPECT_EQ(first_match("(?>a|ab)c|(x)", "abcx"), "x");
}

TEST(Regex, RefusesWhatIsNotInTheTranslation) {
  const auto message = [](const std::string& what, int at) {
    return "p: must be a supported regular expression, but has " + what + " at byte " +
           std::to_string(at) +
           "; supported: literals, [...], \\p{..} \\s \\S \\d \\D, groups, (?i:...), look-around, "
           "| ^ $ . * + ? {n,m}";
  };
  EXPECT_EQ(refused_pattern("a\\h"), message("\\h", 1));
  EXPECT_EQ(refused_pattern("\\p{Greek}"), message("\\p{Greek}", 0));
  EXPECT_EQ(refused_pattern("[a&&b]"), message("&&", 2));
  EXPECT_EQ(refused_pattern("[[:alpha:]]"), message("[:", 1));
  EXPECT_EQ(refused_pattern("a(?m)"), message("(?m", 1));
  EXPECT_EQ(refused_pattern("a**"), message("*", 2));
  EXPECT_EQ(refused_pattern("a{2}?"), message("?", 4));
  EXPECT_EQ(refused_pattern("\\1"), message("\\1", 0));
  EXPECT_EQ(refused_pattern("a)"), message(")", 1));
  EXPECT_EQ(refused_pattern("[]a]"), message("]", 1));
  EXPECT_EQ(refused_pattern("\\xff"), message("\\xff", 0));
  EXPECT_EQ(refused_pattern("(a"), "p: must be a regular expression, but a \")\" is missing");
  EXPECT_EQ(refused_pattern("[a"), "p: must be a regular expression, but a \"]\" is missing");
  EXPECT_EQ(refused_pattern(std::string(100, '(')), "p: groups must be nested at most 64 deep");
  EXPECT_EQ(refused_pattern(std::string(70000, 'a')),
            "p: must have at most 65536 bytes, but has 70000");
  EXPECT_EQ(refused_pattern("(?<=a+)b"),
            "p: must be a regular expression that PCRE2 compiles, but: lookbehind assertion is not "
            "fixed length");
}

TEST(Regex, RefusesATextThatNeedsTooMuchMemory) {
  const Regex regex("(?:(?:a|b)+c?)+d", Syntax::ruby, "p");
  Regex::Scratch scratch;
  const auto message = data::refusal([&] { regex.find(std::string(30000000, 'a'), 0, scratch); });
  EXPECT_TRUE(
      message.starts_with("text: the pattern of the tokenizer must match it in bounded "
                          "memory, but PCRE2 says: "))
      << message;
}

}  // namespace
}  // namespace evenkeel::tokenizer
