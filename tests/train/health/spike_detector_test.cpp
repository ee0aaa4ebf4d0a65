// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace evenkeel::train {
namespace {

constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

TEST(SpikeDetector, IgnoresNonfiniteValues) {
  SpikeDetector detector;
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(detector.observe(3 + 0.01 * (i % 5)));
  const auto state = detector.state();
  EXPECT_FALSE(detector.observe(kNoLoss));
  EXPECT_FALSE(detector.observe(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(detector.state(), state);
}

// Up to half of the window may be outliers: the median and its deviation do not follow them.
TEST(SpikeDetector, DetectsTheTenthSpikeLikeTheFirst) {
  SpikeDetector detector;
  for (int i = 0; i < 30; ++i) detector.observe(3 + 0.01 * (i % 5));
  for (int i = 0; i < 10; ++i) {
    const auto spike = detector.observe(9);
    ASSERT_TRUE(spike) << i;
    EXPECT_NEAR(spike->median, 3.02, 0.03);
  }
}

// 1, 2, 3, 4, 5, four times: median 3, MAD 1. A deviation is 1.4826, ten are 14.826.
TEST(SpikeDetector, MeasuresInDeviationsOfANormalDistribution) {
  SpikeDetector detector;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(detector.observe(1 + i % 5));
  auto other = detector;
  EXPECT_FALSE(detector.observe(3 + 14.8));
  const auto spike = other.observe(3 + 14.9);
  ASSERT_TRUE(spike);
  EXPECT_EQ(spike->median, 3);
  EXPECT_NEAR(spike->deviations, 14.9 / 1.4826, 1e-12);
}

// Ten deviations of these values are 0.015, but a tenth of their median is 10.
TEST(SpikeDetector, WantsATenthOfTheMedian) {
  SpikeDetector detector;
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(detector.observe(100 + 0.001 * (i % 5 - 2)));
  auto other = detector;
  EXPECT_FALSE(detector.observe(109.9));
  EXPECT_TRUE(other.observe(110.1));
}

TEST(SpikeDetector, IsSilentUntilItsWindowHoldsTwentyValues) {
  SpikeDetector detector;
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(detector.observe(i % 2 == 0 ? 3 : 300));
}

TEST(SpikeDetector, FollowsALossThatFalls) {
  SpikeDetector detector;
  for (int i = 0; i < 500; ++i) {
    const double noise = 0.05 * std::sin(12.9898 * i);
    EXPECT_FALSE(detector.observe(6 * std::exp(-i / 100.0) + 1 + noise)) << i;
  }
}

// The loss of a small model in its first steps, 6 to 2.7 nats. Four times the usual loss is a
// spike, although the last 64 losses differ by as much.
TEST(SpikeDetector, DetectsASpikeWhileTheLossFalls) {
  for (int spike = 30; spike <= 70; spike += 10) {
    SpikeDetector detector;
    for (int i = 0; i < spike; ++i) {
      const double noise = 0.02 * std::sin(12.9898 * i);
      EXPECT_FALSE(detector.observe(2.7 + 3.3 * std::exp(-i / 15.0) + noise)) << i;
    }
    const auto found = detector.observe(10.08);
    ASSERT_TRUE(found) << spike;
    EXPECT_LT(found->median, 3.7) << spike;
    EXPECT_FALSE(detector.observe(2.76));
  }
}

}  // namespace
}  // namespace evenkeel::train
