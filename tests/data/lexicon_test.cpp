// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/lexicon.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "evenkeel/data/grammar.h"

namespace evenkeel::data {
namespace {

const std::string_view kPlain[] = {
    lexicon::kAdjectives,     lexicon::kAdverbs,  lexicon::kPrepositions, lexicon::kSpeakers,
    lexicon::kSecondSpeakers, lexicon::kSingular, lexicon::kPlural,       lexicon::kEither};
const std::string_view kInflected[] = {lexicon::kNouns, lexicon::kTransitive,
                                       lexicon::kIntransitive};

TEST(Lexicon, HasMoreThanFiveHundredWords) {
  std::size_t words = 0;
  for (const auto list : kPlain) words += split_words(list).size();
  for (const auto list : kInflected) words += split_words(list).size();
  EXPECT_GT(words, 500U);
}

// The grammar is unambiguous because each word has one role.
TEST(Lexicon, GivesEveryFormOneRole) {
  std::map<std::string, int> uses;
  for (const auto list : kPlain) {
    for (const auto& word : split_words(list)) ++uses[word];
  }
  for (const auto list : kInflected) {
    for (const auto& word : split_words(list)) {
      ++uses[word];
      ++uses[word + "s"];
    }
  }
  for (const auto* word :
       {"either", "if",   "who",   "whom",   "plus",  "is",     "or",  "then", "and",   "so",
        "say",    "says", "write", "writes", "swear", "swears", "but", "for",  "while", "yet"}) {
    ++uses[word];
  }
  for (const auto& [word, count] : uses) EXPECT_EQ(count, 1) << word;
}

TEST(Lexicon, TakesAPlainSInThePluralAndTheSingular) {
  for (const auto list : kInflected) {
    for (const auto& word : split_words(list)) {
      for (const char* ending : {"s", "x", "z", "ch", "sh", "f"}) {
        EXPECT_FALSE(word.ends_with(ending)) << word;
      }
      const bool consonant_y =
          word.ends_with('y') && std::string("aeiou").find(word[word.size() - 2]) > 4;
      EXPECT_FALSE(consonant_y) << word;
    }
  }
}

void expect_different_texts(const Categorical& distribution) {
  std::map<std::string, int> uses;
  for (std::size_t i = 0; i < distribution.size(); ++i) EXPECT_EQ(++uses[distribution.text(i)], 1);
}

TEST(Grammar, ChoosesBetweenDifferentTexts) {
  const auto& g = grammar();
  for (const auto* words : {&g.speakers, &g.second_speakers, &g.starts, &g.operands, &g.determiners,
                            &g.adjectives, &g.modifiers, &g.conjunctions, &g.nouns_of_either}) {
    expect_different_texts(*words);
  }
  for (const auto number : {singular, plural}) {
    for (const auto* words : {&g.say, &g.nouns, &g.verbs, &g.transitive, &g.intransitive}) {
      expect_different_texts((*words)[number]);
    }
  }
}

}  // namespace
}  // namespace evenkeel::data
