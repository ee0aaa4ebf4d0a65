// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/shrinkage.h"

#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace evenkeel::study
