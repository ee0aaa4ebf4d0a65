// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_map>
#include <vector>

#include "evenkeel/data/sentences_corpus.h"
#include "support/sanitizers.h"

namespace evenkeel::data {
namespace {

using Words = std::vector<std::uint64_t>;

Words ids_of(const Corpus& corpus) {
  const auto ids = corpus.tokens.range(0, corpus.tokens.size());
  return {ids.begin(), ids.end()};
}

/// Counts of histories of 0 to `longest` tokens, and of the tokens after them.
struct Counts {
  std::unordered_map<std::uint64_t, double> after, histories;
  std::size_t longest = 0;
};

constexpr int kBits = 9;  // of a token

/// The `length` tokens before `at` as one number, different for each length.
std::uint64_t history(const Words& ids, std::size_t at, std::size_t length) {
  std::uint64_t key = 1;
  for (std::size_t back = length; back > 0; --back) key = key << kBits | ids[at - back];
  return key;
}

Counts count(const Words& ids, std::size_t longest) {
  Counts counts;
  counts.longest = longest;
  for (std::size_t at = longest; at < ids.size(); ++at) {
    for (std::size_t length = 0; length <= longest; ++length) {
      const auto key = history(ids, at, length);
      ++counts.histories[key];
      ++counts.after[key << kBits | ids[at]];
    }
  }
  return counts;
}

/// Nats a token of the byte n-grams of orders 1, 2, ... with these counts:
/// p(c | h) = (count(h c) + p(c | shorter h)) / (count(h) + 1), and 1/257 for no history.
std::vector<double> ngram_nats(const Counts& counts, const Words& ids) {
  const auto found = [](const auto& map, std::uint64_t key) {
    const auto each = map.find(key);
    return each == map.end() ? 0.0 : each->second;
  };
  std::vector<double> nats(counts.longest + 1);
  for (std::size_t at = counts.longest; at < ids.size(); ++at) {
    double p = 1.0 / static_cast<double>(kByteVocabulary);
    for (std::size_t length = 0; length <= counts.longest; ++length) {
      const auto key = history(ids, at, length);
      p = (found(counts.after, key << kBits | ids[at]) + p) / (found(counts.histories, key) + 1);
      nats[length] -= std::log(p);
    }
  }
  for (auto& each : nats) each /= static_cast<double>(ids.size() - counts.longest);
  return nats;
}

TEST(Sentences, LieFarBelowWhatCountsOfNeighboursReach) {
  if (is_sanitized()) GTEST_SKIP() << "a statement about the text; nothing for a sanitizer";
  const auto [train, validation] = sentences_corpora();
  double floor = 0;
  for (const auto& each : validation.documents) floor += each.nats;
  floor /= static_cast<double>(validation.tokens.size() - 1);
  const auto nats = ngram_nats(count(ids_of(train), 4), ids_of(validation));
  const double least_gap[] = {0.3, 0.3, 0.1};
  const std::size_t orders[] = {2, 3, 5};
  for (int i = 0; i < 3; ++i) {
    const double gap = nats[orders[i] - 1] - floor;
    RecordProperty("gap_of_order_" + std::to_string(orders[i]), std::to_string(gap));
    EXPECT_GT(gap, least_gap[i]) << orders[i];
  }
}

}  // namespace
}  // namespace evenkeel::data
