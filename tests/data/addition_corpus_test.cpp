// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/addition_corpus.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "evenkeel/data/detokenize.h"

namespace evenkeel::data {
namespace {

std::string document(const Corpus& corpus, const Document& each) {
  return detokenize(corpus.tokens.range(each.begin, each.end - each.begin));
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

TEST(Additions, AreRightSumsOfTheCountsThatAreSaid) {
  EXPECT_EQ(terms_of("12+7=19"), 2);
  EXPECT_EQ(terms_of("12+7=18"), 0);
  for (const auto& terms : {kAdditionTerms, kLongerAdditionTerms}) {
    const auto corpora = addition_corpora(terms);
    for (const auto* corpus : {&corpora.train, &corpora.validation}) {
      std::map<int, double> counts;
      for (const auto& each : corpus->documents) ++counts[terms_of(document(*corpus, each))];
      EXPECT_EQ(counts.size(), terms.size());
      const auto documents = static_cast<double>(corpus->documents.size());
      const auto share = 1 / static_cast<double>(terms.size());
      for (const auto count : terms) EXPECT_NEAR(counts[count] / documents, share, 0.03);
    }
  }
}

/// The numbers of a sum in the order of size.
std::multiset<int> numbers_of(const std::string& text) {
  std::multiset<int> numbers;
  for (std::size_t at = 0; text[at] != '=';) {
    if (text[at] == '+') ++at;
    std::size_t digits = 0;
    numbers.insert(std::stoi(text.substr(at), &digits));
    at += digits;
  }
  return numbers;
}

TEST(Additions, AreValidatedOnNumbersThatAreNeverTrainedOnInAnyOrder) {
  const auto corpora = addition_corpora(kAdditionTerms);
  EXPECT_EQ(corpora.train.documents.size(), 60000U);
  EXPECT_EQ(corpora.validation.documents.size(), 2000U);
  std::set<std::multiset<int>> trained;
  for (const auto& each : corpora.train.documents) {
    trained.insert(numbers_of(document(corpora.train, each)));
  }
  for (const auto& each : corpora.validation.documents) {
    const auto text = document(corpora.validation, each);
    EXPECT_FALSE(trained.contains(numbers_of(text))) << text;
  }
}

// docs/corpus.md. Of the 20 * 20 pairs about seven in eight are trained on.
TEST(Additions, HaveAsManyDistinctSumsAsTheDocumentationSays) {
  const auto distinct = [](const Corpus& corpus, int terms) {
    std::set<std::string> texts;
    for (const auto& each : corpus.documents) {
      const auto text = document(corpus, each);
      if (terms_of(text) == terms) texts.insert(text);
    }
    return texts.size();
  };
  const auto corpora = addition_corpora(kAdditionTerms);
  EXPECT_EQ(distinct(corpora.train, 2), 354U);
  EXPECT_EQ(distinct(corpora.train, 3), 6655U);
  EXPECT_EQ(distinct(corpora.train, 4), 18629U);
  EXPECT_EQ(distinct(corpora.validation, 2), 46U);
  EXPECT_EQ(distinct(corpora.validation, 3), 448U);
  EXPECT_EQ(distinct(corpora.validation, 4), 678U);
  EXPECT_EQ(distinct(addition_validation_corpus(kLongerAdditionTerms), 5), 1998U);
}

TEST(Additions, HaveAnswersThatCostNothing) {
  const auto corpora = addition_corpora(kAdditionTerms);
  EXPECT_TRUE(corpora.train.has_known_entropy && corpora.validation.has_known_entropy);
  EXPECT_EQ(corpora.validation.answer_start_token, TokenId{'='});
  for (const auto& each : corpora.validation.documents) EXPECT_EQ(each.nats, 0);
}

TEST(Additions, AreHeldOutTheSameWithoutTheirTrainingText) {
  EXPECT_TRUE(addition_validation_corpus(kAdditionTerms).tokens ==
              addition_corpora(kAdditionTerms).validation.tokens);
}

}  // namespace
}  // namespace evenkeel::data
