// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/sentences_corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "evenkeel/data/detokenize.h"
#include "evenkeel/data/grammar.h"

namespace evenkeel::data {
namespace {

const BuiltinCorpora& corpora() {
  static const BuiltinCorpora kCorpora = sentences_corpora();
  return kCorpora;
}

std::string document(const Corpus& corpus, std::size_t index) {
  const auto [begin, end, nats] = corpus.documents[index];
  return detokenize(corpus.tokens.range(begin, end - begin));
}

double floor_of(const Corpus& corpus) {
  double nats = 0;
  for (const auto& each : corpus.documents) nats += each.nats;
  return nats / static_cast<double>(corpus.tokens.size() - 1);
}

/// -ln p of the choice of `word` among `words`.
double nats_of(const Categorical& distribution, const std::string& word) {
  for (std::size_t i = 0; i < distribution.size(); ++i) {
    if (distribution.text(i) == word) return distribution.nats(i);
  }
  ADD_FAILURE() << word << " is no choice";
  return 0;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Sentences, HaveAnEntropyBetweenSixAndFourteenTenthsOfANatPerByte) {
  for (const auto* corpus : {&corpora().train, &corpora().validation}) {
    EXPECT_GT(floor_of(*corpus), 0.6);
    EXPECT_LT(floor_of(*corpus), 1.4);
  }
  // Both parts are drawn from one law; 1,400 documents leave a standard error of 0.003.
  EXPECT_NEAR(floor_of(corpora().train), floor_of(corpora().validation), 0.015);
}

TEST(Sentences, AreReadBackWithTheProbabilityTheyWereWrittenWith) {
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto text = document(corpora().train, i);
    const auto nats = sentences_document_nats(text);
    ASSERT_TRUE(nats.has_value()) << text;
    EXPECT_EQ(*nats, corpora().train.documents[i].nats) << text;
  }
}

// -ln p = sum of -ln p of the choices, counted by hand.
TEST(Sentences, HaveTheProbabilityOfTheirChoices) {
  std::string text = "Who sees the king?";
  for (int more = 0; more < 5; ++more) text += " Who sees the king?";
  const auto& g = grammar();
  const double one = nats_of(g.starts, "who") + nats_of(g.verbs[singular], "sees") +
                     nats_of(g.determiners, "the") + nats_of(g.has_adjective, "no") +
                     nats_of(g.nouns_of_either, "king");
  EXPECT_NEAR(sentences_document_nats(text).value(), nats_of(g.has_speaker, "no") + 6 * one, 1e-12);
}

TEST(Sentences, EndWithTheFirstSentenceThatPassesTheLimitAndNotBefore) {
  std::string text = "Who sees the king?";
  for (int more = 0; more < 4; ++more) text += " Who sees the king?";
  EXPECT_FALSE(sentences_document_nats(text));
  text += " Who sees the king?";
  EXPECT_TRUE(sentences_document_nats(text));
  EXPECT_FALSE(sentences_document_nats(text + " Who sees the king?"));
}

TEST(Sentences, AreRefusedWhenARuleIsBroken) {
  const std::string text =
      "Anna and Olga say: \"The old kings who never sleep see two dogs. 7 plus 5 is 12. Either "
      "this cat (my owl sees 423 bees) ...\" So say Anna and Olga.";
  const auto good = replaced(text, "Either this cat (my owl sees 423 bees) ...",
                             "This cat (my owl sees 423 bees) helps the boy.");
  ASSERT_TRUE(sentences_document_nats(good));
  const std::pair<const char*, const char*> breaks[] = {
      {"see two", "sees two"},  // agreement over the relative clause
      {"helps", "help"},        // agreement over the parenthesis
      {"sleep", "sleeps"},      // agreement in the relative clause
      {"is 12", "is 13"},       // a false sum
      {"bees)", "bees"},        // a parenthesis left open
      {"boy.\"", "boy."},       // a quotation left open
      {"So say Anna", "So say Mara"},
      {"and Olga.", "and Nils."},
      {"So say", "So swear"},
      {"say:", "says:"},
      {"The old", "the old"},
      {"423 bees", "423 bee"},
      {"two dogs", "two  dogs"},
      {"sees 423", "sleeps 423"},
      {"kings", "kingss"}};
  for (const auto& [from, to] : breaks) {
    EXPECT_FALSE(sentences_document_nats(replaced(good, from, to))) << from << " -> " << to;
  }
  EXPECT_FALSE(sentences_document_nats(""));
  EXPECT_FALSE(sentences_document_nats(good + " "));
}

TEST(Sentences, HoldTrueSums) {
  const std::regex sum("([0-9]+) plus ([0-9]+) is ([0-9]+)\\.");
  std::set<std::string> facts;
  for (std::size_t i = 0; i < 16000; ++i) {
    const auto text = document(corpora().train, i);
    for (std::sregex_iterator each(text.begin(), text.end(), sum), none; each != none; ++each) {
      EXPECT_EQ(std::stoi((*each)[1]) + std::stoi((*each)[2]), std::stoi((*each)[3])) << text;
      facts.insert(each->str());
    }
  }
  EXPECT_EQ(facts.size(), kHighestOperand * kHighestOperand);
}

TEST(Sentences, CloseWhatTheyOpenMoreThanAHundredBytesLater) {
  int far = 0;
  for (std::size_t i = 0; i < corpora().train.documents.size(); ++i) {
    const auto text = document(corpora().train, i);
    EXPECT_EQ(std::count(text.begin(), text.end(), '('), std::count(text.begin(), text.end(), ')'));
    const auto open = text.find('"');
    if (open == std::string::npos) continue;
    const auto close = text.find('"', open + 1);
    const auto name = text.substr(0, text.find(' '));
    EXPECT_NE(text.find(name, close), std::string::npos) << text;
    far += text.find(name, close) > 100 ? 1 : 0;
  }
  EXPECT_GT(far, 1500);
}

TEST(Sentences, FitInAWindowOf256Tokens) {
  std::int64_t long_ones = 0;
  for (const auto& each : corpora().train.documents) {
    const auto length = each.end - each.begin;
    EXPECT_LE(length, kLongestSentencesDocument);
    EXPECT_GT(length, static_cast<std::int64_t>(kMinSentenceBytes));
    long_ones += length >= 120 ? 1 : 0;
  }
  EXPECT_GT(long_ones, static_cast<std::int64_t>(corpora().train.documents.size()) / 2);
}

TEST(Sentences, ValidateWithDocumentsThatAreNotTrainedOn) {
  std::set<std::string> trained;
  for (std::size_t i = 0; i < corpora().train.documents.size(); ++i) {
    trained.insert(document(corpora().train, i));
  }
  for (std::size_t i = 0; i < corpora().validation.documents.size(); ++i) {
    EXPECT_FALSE(trained.contains(document(corpora().validation, i)));
  }
}

TEST(Sentences, AreTheSameTextEachTime) {
  const auto again = sentences_corpora();
  EXPECT_TRUE(again.train.tokens == corpora().train.tokens);
  EXPECT_TRUE(again.validation.tokens == corpora().validation.tokens);
}

TEST(Sentences, StandBetweenEndsOfText) {
  const auto& [train, validation] = corpora();
  const auto ids = train.tokens.range(0, train.tokens.size());
  std::int64_t next = 1;
  EXPECT_EQ(ids.front(), kEndOfText);
  for (const auto& each : train.documents) {
    EXPECT_EQ(each.begin, next);
    EXPECT_EQ(ids[static_cast<std::size_t>(each.end)], kEndOfText);
    next = each.end + 1;
  }
  EXPECT_EQ(next, train.tokens.size());
  EXPECT_TRUE(train.has_known_entropy && validation.has_known_entropy);
}

}  // namespace
}  // namespace evenkeel::data
