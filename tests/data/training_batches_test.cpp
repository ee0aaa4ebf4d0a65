// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/data/training_batches.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "evenkeel/data/numpy_shuffle.h"

namespace evenkeel::data {
namespace {

constexpr std::int64_t kContext = 4;

/// A corpus of the ids first, first + 1, ...
Corpus counted_from(TokenId first, std::size_t tokens) {
  std::vector<TokenId> ids(tokens);
  std::iota(ids.begin(), ids.end(), first);
  Corpus corpus;
  corpus.tokens = Tokens(std::move(ids));
  return corpus;
}

std::vector<Source> mixture(const std::vector<double>& shares) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    sources.push_back({"s", shares[i], counted_from(static_cast<TokenId>(1000 * i), 101)});
  }
  return sources;
}

TEST(TrainingBatches, OfOneSourceAreItsWindows) {
  const auto sources = mixture({1});
  const TrainingBatches batches(sources, kContext, 7, "shuffled");
  const TrainingWindows windows(sources[0].corpus, kContext, 7);
  EXPECT_EQ(batches.batch(3, 50).inputs, windows.batch(3, 50).inputs);
  EXPECT_EQ(batches.counts(53), (std::vector<std::int64_t>{53}));
}

// For each n: the counts sum to n, each is n * share up to the number of sources, and from n to
// n + 1 exactly one of them grows, by one.
TEST(TrainingBatches, HoldTheSharesOfAMixtureAtEveryStep) {
  for (const std::vector<double>& shares : {std::vector{0.7, 0.3},
                                            {0.5, 0.25, 0.25},
                                            {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                            {0.001, 0.009, 0.99}}) {
    const auto sources = mixture(shares);
    const TrainingBatches batches(sources, kContext, 7, "shuffled");
    auto before = batches.counts(0);
    for (std::int64_t n = 1; n <= 3000; ++n) {
      const auto counts = batches.counts(n);
      std::int64_t sum = 0, grown = 0;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        sum += counts[i];
        grown += counts[i] - before[i];
        ASSERT_GE(counts[i], before[i]);
        ASSERT_LT(std::abs(static_cast<double>(counts[i]) - static_cast<double>(n) * shares[i]),
                  static_cast<double>(shares.size()));
      }
      ASSERT_EQ(sum, n);
      ASSERT_EQ(grown, 1);
      before = counts;
    }
  }
}

TEST(TrainingBatches, OfAMixtureReadEachSourceInItsOwnOrder) {
  const auto sources = mixture({0.7, 0.3});
  const TrainingBatches batches(sources, kContext, 7, "file");
  const auto batch = batches.batch(0, 20);
  std::vector<std::int64_t> next = {0, 1000};
  for (std::size_t row = 0; row < 20; ++row) {
    const auto first = batch.inputs[row * kContext];
    auto& wanted = next[first >= 1000 ? 1 : 0];
    EXPECT_EQ(first, wanted);
    wanted += kContext;
  }
  EXPECT_EQ(next[0], 14 * kContext);
  EXPECT_EQ(next[1], 1000 + 6 * kContext);
}

// Two sources of equal length: with one stream, both would be read in one order.
TEST(TrainingBatches, OfAMixtureReadEachSourceWithItsOwnRandomNumbers) {
  const auto sources = mixture({0.5, 0.5});
  const auto batch = TrainingBatches(sources, kContext, 7, "shuffled").batch(0, 40);
  std::vector<std::int64_t> starts[2];
  for (std::size_t row = 0; row < 40; ++row) {
    const auto first = batch.inputs[row * kContext];
    starts[first >= 1000 ? 1 : 0].push_back(first % 1000);
  }
  ASSERT_EQ(starts[0].size(), 20u);
  ASSERT_EQ(starts[1].size(), 20u);
  EXPECT_NE(starts[0], starts[1]);
}

TEST(TrainingBatches, DoNotDependOnHowManyAreReadAtOnce) {
  const auto sources = mixture({0.2, 0.5, 0.3});
  const TrainingBatches batches(sources, kContext, 7, "shuffled");
  const auto together = batches.batch(5, 40);
  std::vector<std::int64_t> inputs;
  for (std::int64_t i = 5; i < 45; ++i) {
    const auto one = TrainingBatches(sources, kContext, 7, "shuffled").batch(i, 1);
    inputs.insert(inputs.end(), one.inputs.begin(), one.inputs.end());
  }
  EXPECT_EQ(together.inputs, inputs);
}

TEST(TrainingBatches, OfTheOrderFileAreConsecutive) {
  const auto sources = mixture({1});
  const auto batch = TrainingBatches(sources, kContext, 7, "file").batch(0, 26);
  for (std::size_t i = 0; i < batch.inputs.size(); ++i) {
    EXPECT_EQ(batch.inputs[i], static_cast<std::int64_t>(i % 100));
    EXPECT_EQ(batch.targets[i], batch.inputs[i] + 1);
  }
}

// OLMo: chunk k of a file has the tokens [k T, (k + 1) T); the rest of each file is not read; the
// order of epoch e is NumPy's shuffle with seed + e.
TEST(TrainingBatches, OfTheOrderOlmoAreChunksOfEachFile) {
  std::vector<Source> sources(1);
  auto& tokens = sources[0].corpus.tokens;
  tokens.append(counted_from(0, 10).tokens);    // chunks 0, 4
  tokens.append(counted_from(100, 13).tokens);  // chunks 100, 104, 108
  const std::vector<std::int64_t> starts = {0, 4, 100, 104, 108};
  const TrainingBatches batches(sources, kContext, 6198, "olmo");
  ASSERT_EQ(batches.epoch_size(0), 5);
  for (const std::int64_t epoch : {0, 1}) {
    const auto order = numpy_shuffled(5, 6198 + static_cast<std::uint64_t>(epoch));
    const auto batch = batches.batch(5 * epoch, 5);
    EXPECT_EQ(batch.scored, 5 * (kContext - 1));
    for (std::size_t row = 0; row < 5; ++row) {
      const auto start = starts[order[row]];
      for (std::int64_t i = 0; i < kContext; ++i) {
        const auto at = row * kContext + static_cast<std::size_t>(i);
        EXPECT_EQ(batch.inputs[at], start + i);
        EXPECT_EQ(batch.targets[at], i + 1 < kContext ? start + i + 1 : kIgnoreIndex);
      }
    }
  }
}

}  // namespace
}  // namespace evenkeel::data
