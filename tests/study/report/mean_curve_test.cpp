// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/mean_curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace evenkeel::study {
namespace {

using Numbers = std::vector<double>;

report::Line mean_curve(const std::vector<report::Series>& curves, Averaging kind) {
  return mean_curve(curves, kind, CurveSpec{"arm", {0}, {3, 2}});
}

TEST(MeanCurve, IsTheMeanAtTheStepsThatAllHaveWithABandFromLeastToLargest) {
  const auto line =
      mean_curve({{{0, 10, 20}, {1, 2, 3}}, {{0, 20, 30}, {3, 5, 9}}}, Averaging::arithmetic);
  EXPECT_EQ(line.points.x, (Numbers{0, 20}));
  EXPECT_EQ(line.points.y, (Numbers{2, 4}));
  EXPECT_EQ(line.bounds.low, (Numbers{1, 3}));
  EXPECT_EQ(line.bounds.high, (Numbers{3, 5}));
  EXPECT_EQ(line.name, "arm");
  EXPECT_EQ(line.colour, 3);
  EXPECT_EQ(line.dash, 2);
}

TEST(MeanCurve, IsTheRootOfTheProductWhereMeansAreGeometric) {
  const auto line = mean_curve({{{1, 2}, {1, 4}}, {{1, 2}, {4, 9}}}, Averaging::geometric);
  ASSERT_EQ(line.points.size(), 2u);
  EXPECT_DOUBLE_EQ(line.points.y[0], 2);
  EXPECT_DOUBLE_EQ(line.points.y[1], 6);
}

TEST(MeanCurve, LeavesOutWhatIsNotFiniteOrHasNoLogarithm) {
  const std::vector<report::Series> curves = {{{1, 2, 3}, {0, NAN, 4}}, {{1, 2, 3}, {1, 1, 4}}};
  EXPECT_EQ(mean_curve(curves, Averaging::geometric).points.x, (Numbers{3}));
  EXPECT_EQ(mean_curve(curves, Averaging::arithmetic).points.x, (Numbers{1, 3}));
}

TEST(MeanCurve, HasNoBandForOneCurve) {
  const auto line = mean_curve({{{0, 10}, {1, 2}}}, Averaging::arithmetic);
  EXPECT_EQ(line.points.y, (Numbers{1, 2}));
  EXPECT_TRUE(line.bounds.high.empty());
}

// A run that went on from a checkpoint may have a step twice.
TEST(MeanCurve, TakesTheLastOfAStepThatWasDoneTwice) {
  const auto line = mean_curve({{{0, 10, 10}, {1, 2, 5}}}, Averaging::arithmetic);
  EXPECT_EQ(line.points.y, (Numbers{1, 5}));
}

TEST(BandsText, CountsTheSeeds) {
  EXPECT_EQ(bands_text({3, 3}, Averaging::arithmetic),
            "Means over 3 seeds, with bands from the least to the largest.");
  EXPECT_EQ(bands_text({2, 3}, Averaging::geometric),
            "Geometric means over 2 to 3 seeds, with bands from the least to the largest.");
  EXPECT_EQ(bands_text({1, 1}, Averaging::arithmetic), "One run each: no band.");
  EXPECT_EQ(bands_text({}, Averaging::arithmetic), "");
}

}  // namespace
}  // namespace evenkeel::study
