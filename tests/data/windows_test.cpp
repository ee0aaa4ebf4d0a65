// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "evenkeel/data/sentences_corpus.h"

namespace evenkeel::data {
namespace {

/// Token i of the text is i, so that a window shows where it lies.
Corpus counted(std::size_t tokens) {
  std::vector<TokenId> ids(tokens);
  std::iota(ids.begin(), ids.end(), TokenId{0});
  Corpus corpus;
  corpus.tokens = Tokens(std::move(ids));
  corpus.token_lengths = nullptr;
  return corpus;
}

/// Documents of the given lengths, document i with i + 1 nats.
Corpus exact(const std::vector<std::int64_t>& lengths) {
  Corpus corpus;
  corpus.has_known_entropy = true;
  corpus.tokens.push_back(kEndOfText);
  for (const auto length : lengths) {
    const auto begin = corpus.tokens.size();
    for (std::int64_t i = 0; i < length; ++i) corpus.tokens.push_back('x');
    corpus.tokens.push_back(kEndOfText);
    corpus.documents.push_back(
        {begin, begin + length, static_cast<double>(corpus.documents.size() + 1)});
  }
  return corpus;
}

constexpr std::int64_t kWindow = 16;

TEST(TrainingWindows, AreTheSameInAnyBatch) {
  const auto corpus = counted(1000);
  const TrainingWindows windows(corpus, kWindow, 7);
  const auto together = windows.batch(50, 30);
  EXPECT_EQ(together.rows, 30);
  EXPECT_EQ(together.scored, 30 * kWindow);
  std::vector<std::int64_t> inputs, targets;
  for (std::int64_t i = 50; i < 80; ++i) {
    const auto one = TrainingWindows(corpus, kWindow, 7).batch(i, 1);
    inputs.insert(inputs.end(), one.inputs.begin(), one.inputs.end());
    targets.insert(targets.end(), one.targets.begin(), one.targets.end());
  }
  EXPECT_EQ(together.inputs, inputs);
  EXPECT_EQ(together.targets, targets);
}

TEST(TrainingWindows, HaveTheNextTokenAsTarget) {
  const auto corpus = counted(1000);
  const auto batch = TrainingWindows(corpus, kWindow, 7).batch(0, 200);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    EXPECT_EQ(batch.targets[i], batch.inputs[i] + 1);
  }
}

TEST(TrainingWindows, CoverTheTextOnceAnEpochFromARandomPhase) {
  const auto corpus = counted(1000);
  const TrainingWindows windows(corpus, kWindow, 7);
  const auto size = windows.epoch_size();
  EXPECT_EQ(size, (1000 - kWindow) / kWindow);
  std::set<std::int64_t> phases;
  for (std::int64_t epoch = 0; epoch < 200; ++epoch) {
    auto inputs = windows.batch(epoch * size, size).inputs;
    std::sort(inputs.begin(), inputs.end());
    const auto phase = inputs.front();
    phases.insert(phase);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(inputs[i], phase + static_cast<std::int64_t>(i));
    }
  }
  EXPECT_EQ(phases.size(), static_cast<std::size_t>(kWindow));  // 0 .. context - 1
  EXPECT_EQ(*phases.rbegin(), kWindow - 1);
}

TEST(TrainingWindows, ComeInAnotherOrderEachEpochAndSeed) {
  const auto corpus = counted(1000);
  const TrainingWindows windows(corpus, kWindow, 7), others(corpus, kWindow, 8);
  const auto size = windows.epoch_size();
  EXPECT_NE(windows.batch(0, size).inputs, windows.batch(size, size).inputs);
  EXPECT_NE(windows.batch(0, size).inputs, others.batch(0, size).inputs);
}

TEST(TrainingWindows, FitIntoTheSmallestText) {
  const auto corpus = counted(kWindow + 1);
  const auto batch = TrainingWindows(corpus, kWindow, 7).batch(0, 3);
  for (const std::size_t row : {0, 1, 2}) EXPECT_EQ(batch.inputs[row * kWindow], 0);
}

TEST(ValidationWindows, HoldWholeDocumentsOfAnExactText) {
  const auto corpus = exact({3, 4, 2, 8});
  // Tokens: E xxx E xxxx E xx E xxxxxxxx E; a window of 9 holds (3, 4), (2), (8).
  const ValidationWindows windows(corpus, 9, 0);
  ASSERT_EQ(windows.count(), 3);
  const auto batch = windows.batch(0, 3);
  constexpr std::int64_t E = kEndOfText, x = 'x', _ = kIgnoreIndex;
  EXPECT_EQ(batch.inputs, (std::vector<std::int64_t>{E, x, x, x, E, x, x, x, x,  //
                                                     E, x, x, E, E, E, E, E, E,  //
                                                     E, x, x, x, x, x, x, x, x}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{x, x, x, E, x, x, x, x, E,  //
                                                      x, x, E, _, _, _, _, _, _,  //
                                                      x, x, x, x, x, x, x, x, E}));
  EXPECT_EQ(batch.scored, 21);
  EXPECT_EQ(windows.scored_bytes(), 21);
  EXPECT_DOUBLE_EQ(windows.floor_nats_per_token().value(), (1 + 2 + 3 + 4) / 21.0);
}

TEST(ValidationWindows, HaveTheFloorOfTheWindowsThatAreUsed) {
  const auto corpus = exact({8, 8, 8, 8});
  const ValidationWindows windows(corpus, 9, 2);  // windows 0 and 2
  EXPECT_EQ(windows.count(), 2);
  EXPECT_EQ(windows.scored_bytes(), 18);
  EXPECT_DOUBLE_EQ(windows.floor_nats_per_token().value(), (1 + 3) / 18.0);
}

// E1=23E4=5E6=7E: a window of 8 holds the first question, or the other two.
TEST(ValidationWindows, ScoreOnlyAnswersWhereATextHasThem) {
  Corpus corpus;
  corpus.has_known_entropy = true;
  corpus.answer_start_token = '=';
  corpus.tokens.push_back(kEndOfText);
  for (const auto* const sum : {"1=23", "4=5", "6=7"}) corpus.append(sum);
  const ValidationWindows windows(corpus, 8, 0);
  ASSERT_EQ(windows.count(), 2);
  constexpr std::int64_t E = kEndOfText, _ = kIgnoreIndex;
  const auto batch = windows.batch(0, 2);
  EXPECT_EQ(batch.inputs, (std::vector<std::int64_t>{E, '1', '=', '2', '3', E, E, E,  //
                                                     E, '4', '=', '5', E, '6', '=', '7'}));
  EXPECT_EQ(batch.targets, (std::vector<std::int64_t>{_, _, '2', '3', E, _, _, _,  //
                                                      _, _, '5', E, _, _, '7', E}));
  EXPECT_EQ(batch.scored, 7);
  EXPECT_EQ(windows.scored_bytes(), 7);
  EXPECT_EQ(windows.floor_nats_per_token(), 0);  // known: the question determines the answer
}

TEST(ValidationWindows, CutAnyOtherTextIntoConsecutiveOnes) {
  const auto corpus = counted(40);
  const ValidationWindows windows(corpus, kWindow, 0);
  ASSERT_EQ(windows.count(), 3);
  const auto batch = windows.batch(0, 3);
  EXPECT_EQ(batch.scored, 39);  // every token but the first
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    EXPECT_EQ(batch.inputs[i], at < 39 ? at : kEndOfText);
    EXPECT_EQ(batch.targets[i], at < 39 ? at + 1 : kIgnoreIndex);
  }
  EXPECT_FALSE(windows.floor_nats_per_token());
}

TEST(ValidationWindows, SpreadOverTheText) {
  const auto corpus = counted(1601);
  const ValidationWindows windows(corpus, kWindow, 4);  // of 100
  const auto inputs = windows.batch(0, 4).inputs;
  for (const std::size_t row : {0, 1, 2, 3}) EXPECT_EQ(inputs[row * 16], row * 25 * 16);
}

TEST(ValidationWindows, DoNotClaimAFloorForDocumentsThatAreCut) {
  const auto corpus = exact({3, 20});
  const ValidationWindows windows(corpus, kWindow, 0);
  EXPECT_FALSE(windows.floor_nats_per_token());
  EXPECT_EQ(windows.count(), 2);
}

TEST(ValidationWindows, ScoreEveryDocumentOfTheSentences) {
  const auto corpus = sentences_corpora().validation;
  const ValidationWindows windows(corpus, 256, 0);
  double nats = 0;
  for (const auto& each : corpus.documents) nats += each.nats;
  EXPECT_EQ(windows.scored_bytes(), corpus.tokens.size() - 1);
  EXPECT_NEAR(windows.floor_nats_per_token().value(),
              nats / static_cast<double>(corpus.tokens.size() - 1), 1e-12);
}

// Whole documents of 10 tokens would leave 5 of 16 positions to filler.
TEST(EvenlySpacedText, HasNoFiller) {
  const auto corpus = exact(std::vector<std::int64_t>(40, 10));
  const auto whole = ValidationWindows(corpus, kWindow, 4).batch(0, 4);
  const auto filler = [](const Batch& batch) {
    return std::count(batch.targets.begin(), batch.targets.end(), kIgnoreIndex);
  };
  EXPECT_EQ(filler(whole), 4 * 5);
  const auto batch = evenly_spaced_text(corpus, kWindow, 4);
  EXPECT_EQ(batch.rows, 4);
  EXPECT_EQ(batch.scored, 4 * kWindow);
  EXPECT_EQ(filler(batch), 0);
}

TEST(EvenlySpacedText, CoversTheCorpus) {
  const auto batch = evenly_spaced_text(counted(100), kWindow, 3);  // 6 windows
  ASSERT_EQ(batch.rows, 3);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(batch.inputs[row * kWindow], static_cast<std::int64_t>(2 * row) * kWindow);
    EXPECT_EQ(batch.targets[row * kWindow], batch.inputs[row * kWindow] + 1);
  }
  EXPECT_EQ(evenly_spaced_text(counted(100), kWindow, 50).rows, 6);
  EXPECT_EQ(evenly_spaced_text(counted(17), kWindow, 50).scored, kWindow);
}

TEST(EvenlySpacedText, OfLessThanAWindowEndsWithFiller) {
  const auto batch = evenly_spaced_text(counted(10), kWindow, 4);
  EXPECT_EQ(batch.rows, 1);
  EXPECT_EQ(batch.scored, 9);
  EXPECT_EQ(batch.inputs.size(), std::size_t{kWindow});
}

}  // namespace
}  // namespace evenkeel::data
