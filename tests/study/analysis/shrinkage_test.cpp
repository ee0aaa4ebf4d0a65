// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/shrinkage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/base/philox.h"

namespace evenkeel::study {
namespace {

TEST(ShrunkenMeans, AreTheCommonMeanWithoutTrueDifferences) {
  for (const double value : shrunken_means({0.9, 1.0, 1.1}, {1, 1, 1})) EXPECT_DOUBLE_EQ(value, 1);
}

TEST(ShrunkenMeans, KeepWhatHasNoErrorAndFewEstimates) {
  EXPECT_EQ(shrunken_means({1, 5}, {1, 1}), (std::vector<double>{1, 5}));
  EXPECT_EQ(shrunken_means({1, 5, 7}, {0, 0, 0}), (std::vector<double>{1, 5, 7}));
  EXPECT_EQ(shrunken_means({1, 2, 3, 100}, {1, 1, 1, 0}).back(), 100);
}

// Equal errors: tau^2 = variance - error^2 = 4 - 1, so each keeps 3/4 of its distance.
TEST(ShrunkenMeans, KeepTheShareOfTheTrueVariance) {
  const auto found = shrunken_means({-2, 0, 2}, {1, 1, 1});
  EXPECT_NEAR(found[0], -1.5, 1e-9);
  EXPECT_NEAR(found[1], 0, 1e-9);
  EXPECT_NEAR(found[2], 1.5, 1e-9);
}

// The squared error of 30 estimates is lower than that of the estimates themselves, and the best of
// them is not too good.
TEST(ShrunkenMeans, AreNearerToTheTruth) {
  constexpr int kStudies = 200, kCount = 30;
  const Philox random(1, "test/shrinkage");
  double raw_error = 0, shrunken_error = 0, raw_bias = 0, shrunken_bias = 0;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<double> truth, estimates, errors;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto at = static_cast<std::uint64_t>(study);
      truth.push_back(random.normal(2 * i, at));
      errors.push_back(i % 2 == 0 ? 0.5 : 1.5);
      estimates.push_back(truth.back() + errors.back() * random.normal(2 * i + 1, at));
    }
    const auto shrunken = shrunken_means(estimates, errors);
    const auto best = [](const std::vector<double>& values) {
      return static_cast<std::size_t>(std::min_element(values.begin(), values.end()) -
                                      values.begin());
    };
    raw_bias += estimates[best(estimates)] - truth[best(estimates)];
    shrunken_bias += shrunken[best(shrunken)] - truth[best(shrunken)];
    for (std::size_t i = 0; i < kCount; ++i) {
      raw_error += std::pow(estimates[i] - truth[i], 2);
      shrunken_error += std::pow(shrunken[i] - truth[i], 2);
    }
  }
  EXPECT_LT(shrunken_error, 0.6 * raw_error);
  EXPECT_LT(raw_bias / kStudies, -1);
  EXPECT_NEAR(shrunken_bias / kStudies, 0, 0.15);
}

/// Comparisons of ten arms that differ by noise alone and of two that hardly train.
Results comparisons() {
  Results results;
  for (int i = 0; i < 12; ++i) {
    const bool is_unstable = i >= 10;
    Verdict verdict{.arm = "arm " + std::to_string(i), .reference = "pre_norm"};
    verdict.difference = PairedDifference{.pairs = 3,
                                          .mean = is_unstable ? i : 0.001 * (i - 5),
                                          .standard_deviation = is_unstable ? 2 : 0.01};
    results.baseline_verdicts.push_back(verdict);
  }
  return results;
}

// With the unstable arms the deviation would be 0.8, and the spread of the arms 4.
TEST(ShrinkDifferences, IsNotMovedByArmsThatHardlyTrain) {
  auto results = comparisons();
  shrink_differences(results);
  for (int i = 0; i < 10; ++i) {
    EXPECT_NEAR(*results.baseline_verdicts[static_cast<std::size_t>(i)].shrunken, -0.0005, 1e-4)
        << i;
  }
  EXPECT_EQ(*results.baseline_verdicts[10].shrunken, 10);
  EXPECT_EQ(*results.baseline_verdicts[11].shrunken, 11);
}

TEST(ShrinkDifferences, PoolsAllDeviationsOfFewArms) {
  auto results = comparisons();
  results.baseline_verdicts.erase(results.baseline_verdicts.begin() + 4,
                                  results.baseline_verdicts.begin() + 11);
  shrink_differences(results);  // four arms near 0, and one of 11 whose deviation all share
  EXPECT_LT(*results.baseline_verdicts[4].shrunken, 11);
  EXPECT_GT(*results.baseline_verdicts[0].shrunken, 0.01);
}

}  // namespace
}  // namespace evenkeel::study
