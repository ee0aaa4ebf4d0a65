// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>
#include <vector>

#include "evenkeel/data/sentences_corpus.h"

namespace evenkeel::data {
namespace {

using Ids = std::vector<std::uint64_t>;

Ids ids_of(const Corpus& corpus) {
  const auto ids = corpus.tokens.range(0, corpus.tokens.size());
  return {ids.begin(), ids.end()};
}

/// Nats a token, on `validation`, of a byte n-gram fitted on `train`:
/// p(c | h) = (count(h c) + a p(c | shorter h)) / (count(h) + a), and 1/257 for no history.
double ngram_nats(const Corpus& train_corpus, const Corpus& validation_corpus, int order) {
  const auto train = ids_of(train_corpus), validation = ids_of(validation_corpus);
  constexpr double kAlpha = 1;
  constexpr int kBits = 9;  // of a token
  const auto history = [&](const Ids& ids, std::size_t at, int length) {
    std::uint64_t key = 1;  // marks the length
    for (int back = length; back > 0; --back) {
      key = key << kBits | ids[at - static_cast<std::size_t>(back)];
    }
    return key;
  };
  std::unordered_map<std::uint64_t, double> counts, totals;
  const auto first = static_cast<std::size_t>(order - 1);
  for (std::size_t at = first; at < train.size(); ++at) {
    for (int length = 0; length < order; ++length) {
      const auto key = history(train, at, length);
      ++totals[key];
      ++counts[key << kBits | train[at]];
    }
  }
  const auto found = [](const auto& map, std::uint64_t key) {
    const auto each = map.find(key);
    return each == map.end() ? 0.0 : each->second;
  };
  double nats = 0;
  for (std::size_t at = first; at < validation.size(); ++at) {
    double p = 1.0 / static_cast<double>(kByteVocabulary);
    for (int length = 0; length < order; ++length) {
      const auto key = history(validation, at, length);
      p = (found(counts, key << kBits | validation[at]) + kAlpha * p) /
          (found(totals, key) + kAlpha);
    }
    nats -= std::log(p);
  }
  return nats / static_cast<double>(validation.size() - first);
}

TEST(Sentences, LieFarBelowWhatCountsOfNeighboursReach) {
  const auto [train, validation] = sentences_corpora();
  double floor = 0;
  for (const auto& each : validation.documents) floor += each.nats;
  floor /= static_cast<double>(validation.tokens.size() - 1);
  const double least_gap[] = {0.3, 0.3, 0.1};
  const int orders[] = {2, 3, 5};
  for (int i = 0; i < 3; ++i) {
    const double gap = ngram_nats(train, validation, orders[i]) - floor;
    RecordProperty("gap_of_order_" + std::to_string(orders[i]), std::to_string(gap));
    EXPECT_GT(gap, least_gap[i]) << orders[i];
  }
}

}  // namespace
}  // namespace evenkeel::data
