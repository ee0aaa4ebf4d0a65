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

}  // namespace
}  // namespace evenkeel::train
