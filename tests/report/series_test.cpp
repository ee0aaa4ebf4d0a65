// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/report/layer_map.h"

namespace evenkeel::report {
namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

Series wave(std::size_t size) {
  Series out;
  for (std::size_t at = 0; at < size; ++at) {
    const auto x = static_cast<double>(at);
    out.add(x, std::sin(x / 500));
  }
  return out;
}

TEST(Downsampled, KeepsExtremesEndsAndOrder) {
  auto series = wave(100000);
  series.y[31234] = 9;
  series.y[31235] = -9;
  const auto few = downsampled(series, 400);
  EXPECT_LE(few.size(), 2 + 3u * 400);
  EXPECT_EQ(*std::max_element(few.y.begin(), few.y.end()), 9);
  EXPECT_EQ(*std::min_element(few.y.begin(), few.y.end()), -9);
  EXPECT_EQ(few.x.front(), 0);
  EXPECT_EQ(few.x.back(), 99999);
  EXPECT_TRUE(std::is_sorted(few.x.begin(), few.x.end()));
}

TEST(Downsampled, KeepsAGapOfOnePoint) {
  auto series = wave(100000);
  series.y[50000] = kGap;
  const auto few = downsampled(series, 400);
  const auto gap = std::find(few.x.begin(), few.x.end(), 50000.0);
  ASSERT_NE(gap, few.x.end());
  EXPECT_TRUE(std::isnan(few.y[static_cast<std::size_t>(gap - few.x.begin())]));
}

TEST(Downsampled, LeavesAShortSeriesAlone) {
  const auto series = wave(300);
  EXPECT_EQ(downsampled(series, 100).y, series.y);
}

TEST(DownsampleIndices, AreThoseThatAnyOfTheCurvesNeeds) {
  auto one = wave(100000).y, other = one;
  one[31234] = 9;
  other[77777] = kGap;
  const auto kept = downsample_indices({&one, &other}, 400);
  for (const std::size_t at : {0, 31234, 77777, 99999}) {
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), at)) << at;
  }
  EXPECT_LE(kept.size(), 2 + 6u * 400);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
}

TEST(Smoothed, IsTheMeanOfTheNeighbours) {
  const Series series{{0, 1, 2, 3, 4}, {4, 1, 4, 7, 1}};
  const auto smooth = smoothed(series, 1);
  EXPECT_EQ(smooth.x, series.x);
  // (4 + 1 + 4) / 3, (1 + 4 + 7) / 3, (4 + 7 + 1) / 3; the start stays, the end has one neighbour
  EXPECT_EQ(smooth.y, (std::vector<double>{4, 3, 4, 4, 4}));
}

TEST(Smoothed, TakesAsManyOnBothSidesNearTheStart) {
  const auto smooth = smoothed({{0, 1, 2, 3, 4}, {9, 3, 0, 0, 3}}, 2);
  EXPECT_EQ(smooth.y, (std::vector<double>{9, 4, 3, 1.5, 1}));  // 9, 12/3, 15/5, 6/4, 3/3
}

TEST(Smoothed, LooksPastGapsAndKeepsThem) {
  const auto smooth = smoothed({{0, 1, 2, 3}, {1, 2, kGap, 4}}, 1);
  EXPECT_EQ(smooth.y[1], 1.5);
  EXPECT_TRUE(std::isnan(smooth.y[2]));
  EXPECT_EQ(smooth.y[3], 4);
}

TEST(Smoothed, ForgetsASpikeBehindItsWindow) {
  Series series;
  for (int at = 0; at < 200; ++at) series.add(at, at == 50 ? 1e30 : 2);
  const auto smooth = smoothed(series, 3);
  for (std::size_t at = 0; at < 200; ++at) {
    const bool sees_it = at >= 47 && at <= 53;
    EXPECT_EQ(smooth.y[at], sees_it ? 1e30 / 7 : 2) << at;
  }
}

TEST(FromX, StartsAtAnX) {
  EXPECT_EQ(from_x({{0, 1, 2}, {5, 6, 7}}, 1).y, (std::vector<double>{6, 7}));
}

TEST(Statistics, IgnoreWhatIsNotFinite) {
  EXPECT_EQ(mean_of_last({100, 2, kGap, 4}, 2), 3);
  EXPECT_EQ(median({3, kGap, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(last_finite({1, 2, std::numeric_limits<double>::infinity()}), 2);
}

TEST(Statistics, OfNothingAreNotANumber) {
  EXPECT_TRUE(std::isnan(mean_of_last({}, 3)));
  EXPECT_TRUE(std::isnan(median({kGap})));
  EXPECT_TRUE(std::isnan(last_finite({})));
}

TEST(DepthTrend, OfAnExponentialIsItsRateAndOneLayerDoesNotMoveIt) {
  Series profile;
  for (int layer = 1; layer <= 16; ++layer) profile.add(layer, std::exp(-0.1 * layer));
  EXPECT_NEAR(depth_trend(profile).slope, -0.1, 1e-12);
  EXPECT_NEAR(depth_trend(profile).spread, std::exp(1.5), 1e-12);
  Series flat;
  for (int layer = 1; layer <= 16; ++layer) flat.add(layer, layer == 1 ? 8.2 : 1);
  EXPECT_EQ(depth_trend(flat).slope, 0);
  EXPECT_EQ(depth_trend(flat).spread, 8.2);
  flat.y[3] = 0;
  EXPECT_TRUE(std::isnan(depth_trend(flat).slope));
}

}  // namespace
}  // namespace evenkeel::report
