// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/generate/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "evenkeel/base/error.h"
#include "evenkeel/base/philox.h"

namespace evenkeel::generate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Probabilities 0.2, 0.5 and 0.3.
const std::vector<double> kLogits = {std::log(0.2), std::log(0.5), std::log(0.3)};

/// The tokens sampled at 1,000 positions.
std::vector<std::int64_t> sampled_tokens(const std::vector<double>& logits,
                                         const Sampling& sampling) {
  std::vector<std::int64_t> tokens;
  for (std::uint64_t i = 0; i < 1000; ++i) tokens.push_back(sample_token(logits, sampling, i));
  return tokens;
}

std::set<std::int64_t> distinct_tokens(const std::vector<double>& logits,
                                       const Sampling& sampling) {
  const auto tokens = sampled_tokens(logits, sampling);
  return {tokens.begin(), tokens.end()};
}

double share_of(std::int64_t token, const std::vector<std::int64_t>& tokens) {
  const auto count = std::count(tokens.begin(), tokens.end(), token);
  return static_cast<double>(count) / static_cast<double>(tokens.size());
}

std::string refusal(const std::vector<double>& logits) {
  try {
    sample_token(logits, {}, 7);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::diverged);
    return error.what();
  }
  return "accepted";
}

// Three standard errors of a share of 1,000 picks are 0.047 at most.
TEST(Sampler, SamplesFromTheSoftmax) {
  const auto tokens = sampled_tokens(kLogits, {});
  EXPECT_NEAR(share_of(0, tokens), 0.2, 0.047);
  EXPECT_NEAR(share_of(1, tokens), 0.5, 0.047);
  EXPECT_NEAR(share_of(2, tokens), 0.3, 0.047);
}

// p^(1/T), normalized: 0.04, 0.25 and 0.09 over 0.38 at T = 1/2.
TEST(Sampler, DividesLogitsByTheTemperature) {
  const auto tokens = sampled_tokens(kLogits, {.temperature = 0.5});
  EXPECT_NEAR(share_of(0, tokens), 0.04 / 0.38, 0.047);
  EXPECT_NEAR(share_of(1, tokens), 0.25 / 0.38, 0.047);
}

TEST(Sampler, IsGreedyAtTemperatureZeroAndTakesTheFirstOfEquals) {
  EXPECT_EQ(distinct_tokens(kLogits, {.temperature = 0}), (std::set<std::int64_t>{1}));
  EXPECT_EQ(distinct_tokens({1, 3, 3, 2}, {.temperature = 0}), (std::set<std::int64_t>{1}));
}

TEST(Sampler, KeepsTheTopK) {
  EXPECT_EQ(distinct_tokens(kLogits, {.top_k = 1}), (std::set<std::int64_t>{1}));
  EXPECT_EQ(distinct_tokens(kLogits, {.top_k = 2}), (std::set<std::int64_t>{1, 2}));
  EXPECT_EQ(distinct_tokens(kLogits, {.top_k = 9}), (std::set<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(distinct_tokens({1, 3, 3, 3, 2}, {.top_k = 2}), (std::set<std::int64_t>{1, 2}));
  EXPECT_NEAR(share_of(1, sampled_tokens(kLogits, {.top_k = 2})), 0.5 / 0.8, 0.047);
}

TEST(Sampler, KeepsTheSmallestSetThatReachesTopP) {
  EXPECT_EQ(distinct_tokens(kLogits, {.top_p = 0.01}), (std::set<std::int64_t>{1}));
  EXPECT_EQ(distinct_tokens(kLogits, {.top_p = 0.49}), (std::set<std::int64_t>{1}));
  EXPECT_EQ(distinct_tokens(kLogits, {.top_p = 0.51}), (std::set<std::int64_t>{1, 2}));
  EXPECT_EQ(distinct_tokens(kLogits, {.top_p = 0.81}), (std::set<std::int64_t>{0, 1, 2}));
}

/// All tokens in descending order of logits.
std::vector<std::size_t> sorted_tokens(const std::vector<double>& logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  return order;
}

/// The token that the definition gives.
std::int64_t token_by_definition(const std::vector<double>& logits,
                                 const std::vector<std::size_t>& order, double top_p,
                                 double uniform) {
  std::vector<double> weights;
  for (const auto token : order) weights.push_back(std::exp(logits[token] - logits[order[0]]));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double mass = 0, cumulative = 0;
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || mass < top_p * total)) mass += weights[count++];
  for (std::size_t i = 0; i < count; ++i) {
    cumulative += weights[i];
    if (uniform * mass < cumulative) return static_cast<std::int64_t>(order[i]);
  }
  return static_cast<std::int64_t>(order[count - 1]);
}

// Steep and flat distributions, many equal logits: the sorted part grows up to all tokens.
TEST(Sampler, SamplesFromAPartOfALargeVocabularyAsFromAllOfIt) {
  const Philox random(1, "logits"), sample(1, "sample");
  for (const double deviation : {0.0, 0.1, 2.0, 9.0}) {
    std::vector<double> logits(5000);
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = std::round(8 * deviation * random.normal(i)) / 8;
    logits[7] = -kInfinity;
    const auto order = sorted_tokens(logits);
    for (const double top_p : {0.0, 0.3, 0.9, 1.0}) {
      for (std::uint64_t i = 0; i < 15; ++i) {
        EXPECT_EQ(sample_token(logits, {.top_p = top_p}, i),
                  token_by_definition(logits, order, top_p, sample.uniform(i)));
      }
    }
  }
}

TEST(Sampler, IsAFunctionOfTheSeedAndThePosition) {
  EXPECT_EQ(sampled_tokens(kLogits, {.seed = 3}), sampled_tokens(kLogits, {.seed = 3}));
  EXPECT_NE(sampled_tokens(kLogits, {.seed = 3}), sampled_tokens(kLogits, {.seed = 4}));
  std::vector<std::int64_t> other;
  for (std::uint64_t i = 0; i < 1000; ++i)
    other.push_back(sample_token(kLogits, {.seed = 3}, i, 1));
  EXPECT_NE(sampled_tokens(kLogits, {.seed = 3}), other) << "another sequence";
}

TEST(Sampler, NeverSamplesATokenOfMinusInfinity) {
  EXPECT_EQ(distinct_tokens({0, -kInfinity, 0}, {}), (std::set<std::int64_t>{0, 2}));
  EXPECT_EQ(distinct_tokens({-kInfinity, 0, -kInfinity}, {.top_k = 2}),
            (std::set<std::int64_t>{1}));
}

// A NaN at either end: sorting would put it anywhere.
TEST(Sampler, RefusesNonfiniteLogits) {
  EXPECT_EQ(refusal({1, 2, kNan}),
            "generate: wanted finite logits at position 7, but token 2 has nan; the model has "
            "diverged: train with a lower schedule.peak");
  EXPECT_EQ(refusal({-kNan, 2, 1}),
            "generate: wanted finite logits at position 7, but token 0 has nan; the model has "
            "diverged: train with a lower schedule.peak");
  EXPECT_EQ(refusal({1, kInfinity, 2}),
            "generate: wanted finite logits at position 7, but token 1 has inf; the model has "
            "diverged: train with a lower schedule.peak");
  EXPECT_EQ(refusal({-kInfinity, -kInfinity}),
            "generate: wanted finite logits at position 7, but all are -inf; the model has "
            "diverged: train with a lower schedule.peak");
}

}  // namespace
}  // namespace evenkeel::generate
