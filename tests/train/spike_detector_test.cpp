// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/spike_detector.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace evenkeel::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SpikeDetector, NeverKeepsWhatIsNotFinite) {
  SpikeDetector detector;
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(detector.see(3 + 0.01 * (i % 5)));
  const auto state = detector.state();
  EXPECT_FALSE(detector.see(kNan));
  EXPECT_FALSE(detector.see(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(detector.state(), state);
}

// Up to half of the window may be outliers: the median and its deviation do not follow them.
TEST(SpikeDetector, SeesTheTenthSpikeAsTheFirst) {
  SpikeDetector detector;
  for (int i = 0; i < 30; ++i) detector.see(3 + 0.01 * (i % 5));
  for (int i = 0; i < 10; ++i) {
    const auto spike = detector.see(9);
    ASSERT_TRUE(spike) << i;
    EXPECT_NEAR(spike->median, 3.02, 0.03);
  }
}

TEST(SpikeDetector, IsSilentUntilItKnowsEnough) {
  SpikeDetector detector;
  for (int i = 0; i < 19; ++i) EXPECT_FALSE(detector.see(i % 2 == 0 ? 3 : 300));
}

TEST(SpikeDetector, FollowsALossThatFalls) {
  SpikeDetector detector;
  for (int i = 0; i < 500; ++i) {
    const double noise = 0.05 * std::sin(12.9898 * i);
    EXPECT_FALSE(detector.see(6 * std::exp(-i / 100.0) + 1 + noise)) << i;
  }
}

}  // namespace
}  // namespace evenkeel::train
