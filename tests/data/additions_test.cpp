// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/additions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>
#include <string>

#include "evenkeel/data/detokenize.h"

namespace evenkeel::data {
namespace {

std::string document(const Corpus& corpus, const Document& each) {
  return detokenize(std::span(corpus.tokens)
                        .subspan(static_cast<std::size_t>(each.begin),
                                 static_cast<std::size_t>(each.end - each.begin)));
}

/// Numbers of a sum, or 0 where the text is none, or a wrong one.
int terms_of(const std::string& text) {
  static const std::regex kSum("[1-9][0-9]?([+][1-9][0-9]?)+=[1-9][0-9]*");
  if (!std::regex_match(text, kSum)) return 0;
  int terms = 0, sum = 0;
  std::size_t at = 0;
  while (at == 0 || text[at - 1] == '+') {
    std::size_t digits = 0;
    sum += std::stoi(text.substr(at), &digits);
    at += digits + 1;
    ++terms;
  }
  return std::stoi(text.substr(at)) == sum ? terms : 0;
}

TEST(Additions, AreRightSumsOfAsManyNumbersAsIsSaid) {
  EXPECT_EQ(terms_of("12+7=19"), 2);
  EXPECT_EQ(terms_of("12+7=18"), 0);
  for (const auto terms : {kAddition, kLongerAddition, Terms{2, 4}}) {
    const auto corpora = additions(terms);
    std::set<int> seen;
    for (const auto* corpus : {&corpora.train, &corpora.validation}) {
      for (const auto& each : corpus->documents) seen.insert(terms_of(document(*corpus, each)));
    }
    EXPECT_EQ(*seen.begin(), terms.least);
    EXPECT_EQ(*seen.rbegin(), terms.most);
    EXPECT_EQ(static_cast<int>(seen.size()), terms.most - terms.least + 1);
  }
}

// A number of 1 .. 99 is one of 99; behind the second of two to four numbers is "=" or "+", and so
// on: a sum of three has two such choices. Words has probabilities in multiples of 2^-32.
TEST(Additions, KnowTheProbabilityOfEachSum) {
  const auto corpora = additions({2, 4});
  for (const auto& each : corpora.validation.documents) {
    const auto terms = terms_of(document(corpora.validation, each));
    const auto choices = std::min(terms - 1, 2);
    EXPECT_NEAR(each.nats, terms * std::log(99.0) + choices * std::log(2.0), 1e-6);
  }
}

TEST(Additions, AreValidatedOnSumsThatAreNeverTrainedOn) {
  const auto corpora = additions(kAddition);
  EXPECT_EQ(corpora.train.documents.size(), 60000U);
  EXPECT_EQ(corpora.validation.documents.size(), 2000U);
  std::set<std::string> trained;
  for (const auto& each : corpora.train.documents) trained.insert(document(corpora.train, each));
  std::set<std::string> held_out;
  for (const auto& each : corpora.validation.documents) {
    held_out.insert(document(corpora.validation, each));
  }
  for (const auto& each : held_out) EXPECT_EQ(trained.count(each), 0U) << each;
  // 99^2 sums, seven of eight to train on: 60,000 draws have met nearly all of them.
  EXPECT_NEAR(static_cast<double>(trained.size()), 99 * 99 * 7 / 8., 99 * 99 * 0.02);
  EXPECT_GT(held_out.size(), 700U);
}

TEST(Additions, HaveAnswersBehindTheEqualsSign) {
  const auto corpora = additions(kAddition);
  EXPECT_TRUE(corpora.train.exact && corpora.validation.exact);
  EXPECT_EQ(corpora.validation.answer_mark, std::uint16_t{'='});
}

}  // namespace
}  // namespace evenkeel::data
