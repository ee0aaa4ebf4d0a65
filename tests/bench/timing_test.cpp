// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/bench/timing.h"

#include <gtest/gtest.h>

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
TEST(RatioOfTimings, HasAnIntervalOfRanks) {
  const Timing one{"", {9, 1, 8, 2, 7, 3, 6, 4, 5}};
  const Timing other{"", std::vector<double>(9, 1)};
  const auto found = ratio(one, other);
  EXPECT_EQ(found.median, 5);
  EXPECT_EQ(found.low, 2);
  EXPECT_EQ(found.high, 8);
}

}  // namespace
}  // namespace evenkeel::bench
