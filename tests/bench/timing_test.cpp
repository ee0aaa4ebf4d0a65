// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/timing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace evenkeel::bench {
namespace {

TEST(Interleaved, RunsArmsInTurnForwardsAndBackwards) {
  std::string order;
  const std::vector<Arm> arms = {
      {"a", [&] { order += 'a'; }}, {"b", [&] { order += 'b'; }}, {"c", [&] { order += 'c'; }}};
  const auto timings = interleaved_timings(arms, /*rounds=*/3, /*warmups=*/2);
  EXPECT_EQ(order, "abccbaabccbaabc");  // rounds -2 .. 2
  ASSERT_EQ(timings.size(), 3u);
  EXPECT_EQ(timings[1].name, "b");
  for (const auto& timing : timings) EXPECT_EQ(timing.seconds.size(), 3u);
}

TEST(Interleaved, TimesOneOfSeveralCalls) {
  int calls = 0;
  const auto timings = interleaved_timings({{"a", [&] { ++calls; }}}, 4, 1, 5);
  EXPECT_EQ(calls, 25);
  EXPECT_EQ(timings[0].seconds.size(), 4u);
}

TEST(Timing, HasAMedianAndALeast) {
  EXPECT_EQ((Timing{"", {3, 1, 2}}.median()), 2);
  EXPECT_EQ((Timing{"", {4, 1, 2, 3}}.median()), 2.5);
  EXPECT_EQ((Timing{"", {4, 1, 2, 3}}.least()), 1);
}

TEST(Timing, HasQuartiles) {
  const Timing timing{"", {9, 1, 8, 2, 7, 3, 6, 4, 5}};
  EXPECT_EQ(timing.quartile(1), 3);
  EXPECT_EQ(timing.quartile(3), 7);
}

// numpy.percentile(times, [25, 75])
TEST(Timing, InterpolatesQuartilesOfFewRounds) {
  const Timing three{"", {3, 1, 2}}, four{"", {4, 1, 2, 3}}, one{"", {2}};
  EXPECT_EQ(three.quartile(1), 1.5);
  EXPECT_EQ(three.quartile(3), 2.5);
  EXPECT_EQ(four.quartile(1), 1.75);
  EXPECT_EQ(four.quartile(3), 3.25);
  EXPECT_EQ(one.quartile(1), 2);
  EXPECT_EQ(one.quartile(3), 2);
}

// Shares of the rounds: the second and the third are disturbed, and measured again.
TEST(Repeated, MeasuresDisturbedRoundsAgain) {
  std::vector<double> shares = {0.02, 0.5, 0.11, 0.04, 0.03};
  std::size_t at = 0;
  const auto share = [&](const std::function<void()>& round) {
    round();
    return std::optional<double>(shares.at(at++));
  };
  int calls = 0;
  const auto found = repeated_timings({{"a", [&] { ++calls; }}}, 3, share);
  EXPECT_EQ(calls, 2 + 5);
  EXPECT_EQ(found.repeated, 2);
  EXPECT_EQ(found.timings[0].seconds.size(), 3U);
  EXPECT_EQ(found.contention, 0.04);
}

TEST(Repeated, GivesUpAfterAsManyRoundsAsAreWanted) {
  const auto share = [](const std::function<void()>& round) {
    round();
    return std::optional<double>(0.6);
  };
  const auto found = repeated_timings({{"a", [] {}}}, 3, share);
  EXPECT_EQ(found.repeated, 3);
  EXPECT_EQ(found.timings[0].seconds.size(), 3U);
  EXPECT_EQ(found.contention, 0.6);
}

TEST(Repeated, DoesNotJudgeWhereOneRoundIsUnknown) {
  int round = 0;
  const auto share = [&](const std::function<void()>& run) -> std::optional<double> {
    run();
    return ++round == 2 ? std::nullopt : std::optional<double>(0.01);
  };
  EXPECT_EQ(repeated_timings({{"a", [] {}}}, 3, share).contention, std::nullopt);
}

TEST(Repeated, DoesNotJudgeShortRounds) {
  EXPECT_EQ(contention_during([] {}), std::nullopt);
  EXPECT_EQ(repeated_timings({{"a", [] {}}}, 3).contention, std::nullopt);
}

// Round by round: a machine that slows down in between slows both.
TEST(RatioOfTimings, IsThatOfTheRounds) {
  const Timing one{"", {2, 20, 4, 6, 200}};
  const Timing other{"", {1, 10, 2, 2, 100}};
  const auto found = ratio(one, other);
  EXPECT_EQ(found.median, 2);
  EXPECT_EQ(found.least, 2);
  EXPECT_EQ(found.low, 2);  // five rounds are too few to leave one out
  EXPECT_EQ(found.high, 3);
}

// P(Binomial(9, 1/2) <= 1) = 10 / 512 = 0.0195, with <= 2 it is 0.09: one may go on each side.
TEST(RatioOfTimings, KnowsTheConfidenceOfARange) {
  EXPECT_EQ(range_confidence(3), 0.75);
  EXPECT_EQ(range_confidence(5), 0.9375);
  EXPECT_GE(range_confidence(kRoundsOfInterval), 0.95);
  EXPECT_LT(range_confidence(kRoundsOfInterval - 1), 0.95);
}

TEST(RatioOfTimings, HasAnIntervalOfRanks) {
  const Timing one{"", {9, 1, 8, 2, 7, 3, 6, 4, 5}};
  const Timing other{"", std::vector<double>(9, 1)};
  const auto found = ratio(one, other);
  EXPECT_EQ(found.median, 5);
  EXPECT_EQ(found.low, 2);
  EXPECT_EQ(found.high, 8);
}

TEST(UnpairedRatio, IsTheMedianOfAllRatiosWithTheIntervalOfMannAndWhitney) {
  const std::vector<double> other = {8, 1, 16, 2, 4};
  std::vector<double> one;
  for (const double each : {1.0, 2.0, 4.0, 8.0, 16.0}) one.push_back(8 * each);
  const auto found = unpaired_ratio(one, other);
  EXPECT_EQ(found.median, 8);
  EXPECT_EQ(found.least, 8);
  // P(U <= 2) = 4 / 252 = 0.016 and P(U <= 3) = 7 / 252 = 0.028: the third ratio from each end.
  EXPECT_EQ(found.low, 1);
  EXPECT_EQ(found.high, 64);
}

TEST(UnpairedRatio, HasNoIntervalOfThreeTimesEach) {
  const auto found = unpaired_ratio({2, 2, 2}, {1, 1, 1});
  EXPECT_EQ(found.median, 2);
  EXPECT_EQ(found.low, 0);
  EXPECT_TRUE(std::isinf(found.high));
}

/// The share of pairs of samples of one distribution whose interval has the true ratio, 1.
double coverage(int pairs, std::size_t one_size, std::size_t other_size) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> times(0, 0.2);
  int covered = 0;
  for (int i = 0; i < pairs; ++i) {
    std::vector<double> one(one_size), other(other_size);
    for (auto& each : one) each = times(random);
    for (auto& each : other) each = times(random);
    const auto found = unpaired_ratio(one, other);
    covered += found.low <= 1 && 1 <= found.high ? 1 : 0;
  }
  return static_cast<double>(covered) / pairs;
}

// At least 95 %, and not wider than needed.
TEST(UnpairedRatio, CoversTheTruth) {
  const double exact = coverage(2000, 9, 7);
  EXPECT_GT(exact, 0.95);
  EXPECT_LT(exact, 0.98);
  EXPECT_NEAR(coverage(400, 60, 50), 0.95, 0.025);  // by the normal distribution
}

}  // namespace
}  // namespace evenkeel::bench
