// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/optim/schedule.h"

#include <gtest/gtest.h>

namespace evenkeel {
namespace {

using config::Length;
using optim::Schedule;

config::Schedule settings(const std::string& kind) {
  return {.kind = kind,
          .peak = 1.0,
          .floor = 0.1,
          .warmup = {10, Length::Unit::steps},
          .decay = {20, Length::Unit::steps}};
}

// lr(s) = peak s / w below w; low + (peak - low)(1 + cos(pi (s - w)/(T - w)))/2; low from T on.
TEST(Schedule, WarmsUpThenFollowsACosine) {
  const Schedule cosine(settings("cosine"), 110, 1);
  EXPECT_DOUBLE_EQ(cosine.rate(1), 0.1);
  EXPECT_DOUBLE_EQ(cosine.rate(10), 1);
  EXPECT_DOUBLE_EQ(cosine.rate(60), 0.55);
  EXPECT_DOUBLE_EQ(cosine.rate(110), 0.1);
  EXPECT_DOUBLE_EQ(cosine.rate(500), 0.1);
}

TEST(Schedule, FallsLinearly) {
  const Schedule linear(settings("linear"), 110, 1);
  EXPECT_DOUBLE_EQ(linear.rate(10), 1);
  EXPECT_DOUBLE_EQ(linear.rate(60), 0.55);
  EXPECT_DOUBLE_EQ(linear.rate(110), 0.1);
}

TEST(Schedule, StaysAtItsPeakIfConstant) {
  const Schedule constant(settings("constant"), 110, 1);
  EXPECT_DOUBLE_EQ(constant.rate(5), 0.5);
  EXPECT_DOUBLE_EQ(constant.rate(1000), 1);
}

TEST(Schedule, FallsOverItsLastPartIfWsd) {
  const Schedule wsd(settings("wsd"), 110, 1);
  EXPECT_DOUBLE_EQ(wsd.rate(90), 1);
  EXPECT_DOUBLE_EQ(wsd.rate(100), 0.55);
  EXPECT_DOUBLE_EQ(wsd.rate(110), 0.1);
}

TEST(Schedule, FallsFromTheEndOfItsWarmupAtTheEarliest) {
  auto most = settings("wsd");
  most.decay = {105, Length::Unit::steps};
  const Schedule wsd(most, 110, 1);
  EXPECT_DOUBLE_EQ(wsd.rate(9), 0.9);
  EXPECT_DOUBLE_EQ(wsd.rate(10), 1);
  EXPECT_DOUBLE_EQ(wsd.rate(60), 0.55);
  EXPECT_DOUBLE_EQ(wsd.rate(110), 0.1);
}

TEST(Schedule, ConvertsTokensAndPercentToSteps) {
  auto by_tokens = settings("constant");
  by_tokens.warmup = {4096, Length::Unit::tokens};
  EXPECT_DOUBLE_EQ(Schedule(by_tokens, 100, 1024).rate(1), 0.25);
  auto by_share = settings("constant");
  by_share.warmup = {5, Length::Unit::percent};
  EXPECT_DOUBLE_EQ(Schedule(by_share, 100, 1024).rate(1), 0.2);
}

// 18 % of 110 steps are 19.8, and 19,600 tokens are 19.6 steps: 20 steps.
TEST(Schedule, RoundsLengthsToTheNearestStep) {
  for (const Length& length :
       {Length{18, Length::Unit::percent}, Length{19600, Length::Unit::tokens}}) {
    auto falling = settings("wsd");
    falling.decay = length;
    const Schedule wsd(falling, 110, 1000);
    EXPECT_DOUBLE_EQ(wsd.rate(90), 1);
    EXPECT_DOUBLE_EQ(wsd.rate(100), 0.55);
    EXPECT_DOUBLE_EQ(wsd.rate(110), 0.1);
    auto rising = settings("constant");
    rising.warmup = length;
    EXPECT_DOUBLE_EQ(Schedule(rising, 110, 1000).rate(5), 0.25);
  }
}

TEST(Schedule, ReachesItsPeakAtTheEndOfAWarmupAsLongAsItself) {
  for (const auto* const kind : {"cosine", "linear", "wsd"}) {
    for (const std::int64_t steps : {10, 5}) {
      const Schedule schedule(settings(kind), steps, 1);
      EXPECT_DOUBLE_EQ(schedule.rate(9), 0.9) << kind;
      EXPECT_DOUBLE_EQ(schedule.rate(10), 1) << kind;
      EXPECT_DOUBLE_EQ(schedule.rate(11), 0.1) << kind;
    }
  }
}

TEST(Schedule, WarmsUpFromItsStart) {
  auto warm = settings("constant");
  warm.start = 0.2;
  const double peak = warm.peak;
  const Schedule schedule(warm, 100, 1);
  EXPECT_DOUBLE_EQ(schedule.rate(5), peak * (0.2 + 0.8 * 0.5));
  EXPECT_DOUBLE_EQ(schedule.rate(10), peak);
}

TEST(Schedule, NeedsNoWarmUp) {
  auto cold = settings("cosine");
  cold.warmup = {0, Length::Unit::steps};
  EXPECT_LT(Schedule(cold, 100, 1).rate(1), 1);
  EXPECT_GT(Schedule(cold, 100, 1).rate(1), 0.99);
}

}  // namespace
}  // namespace evenkeel
