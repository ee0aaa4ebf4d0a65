// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/power_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "evenkeel/base/philox.h"

namespace evenkeel::study {
namespace {

constexpr double kFitRounding = 1e-12;

// value = 3 * size^-0.25
TEST(PowerLaw, RecoversALawWithoutNoise) {
  const std::vector<double> sizes{1, 16, 256, 65536};
  const PowerLaw law = power_law(sizes, {3, 1.5, 0.75, 0.1875});
  EXPECT_NEAR(law.factor, 3, kFitRounding);
  EXPECT_NEAR(law.exponent, 0.25, kFitRounding);
  EXPECT_NEAR(law.exponent_interval.low, 0.25, kFitRounding);
  EXPECT_NEAR(law.exponent_interval.high, 0.25, kFitRounding);
  EXPECT_NEAR(law.at(16), 1.5, kFitRounding);
  EXPECT_NEAR(law.at(0x1p32), 3.0 / 256, kFitRounding);
}

TEST(PowerLaw, GrowsWithANegativeExponent) {
  EXPECT_NEAR(power_law({1, 2, 4}, {5, 10, 20}).exponent, -1, kFitRounding);
}

// scipy: linregress(log(sizes), log(values)), t.ppf(0.975, 3) standard errors to either side.
TEST(PowerLaw, GivesTheIntervalOfARegressionLine) {
  const PowerLaw law = power_law({100, 200, 400, 800, 1600}, {4.1, 3.5, 3.05, 2.6, 2.31});
  EXPECT_NEAR(law.factor, 10.624198752086892, kFitRounding * 10);
  EXPECT_NEAR(law.exponent, 0.20843054149826515, kFitRounding);
  EXPECT_NEAR(law.exponent_interval.low, 0.19078461514285563, kFitRounding);
  EXPECT_NEAR(law.exponent_interval.high, 0.22607646785367466, kFitRounding);
}

TEST(PowerLaw, ScalesItsFactorWithTheUnitOfTheValues) {
  const PowerLaw law = power_law({1, 2, 5}, {4, 3, 1});
  const PowerLaw scaled = power_law({1, 2, 5}, {400, 300, 100});
  EXPECT_NEAR(scaled.factor, 100 * law.factor, kFitRounding * scaled.factor);
  EXPECT_NEAR(scaled.exponent, law.exponent, kFitRounding);
  EXPECT_NEAR(scaled.exponent_interval.high, law.exponent_interval.high, kFitRounding * 10);
}

TEST(PowerLaw, HasNoIntervalThroughTwoPoints) {
  const PowerLaw law = power_law({1, 4}, {8, 4});
  EXPECT_NEAR(law.exponent, 0.5, kFitRounding);
  EXPECT_TRUE(std::isnan(law.exponent_interval.low));
  EXPECT_TRUE(std::isnan(law.exponent_interval.high));
}

TEST(PowerLaw, RefusesWhatHasNoLogarithmOrNoSlope) {
  EXPECT_THROW(power_law({1, 2}, {1, 0}), std::logic_error);
  EXPECT_THROW(power_law({1, 2}, {1}), std::logic_error);
  EXPECT_THROW(power_law({3, 3, 3}, {1, 2, 3}), std::logic_error);
  EXPECT_THROW(power_law({}, {}), std::logic_error);
}

// scipy: the same regression; exp(line -+ t.ppf(0.975, n - 2) * standard error of a new mean).
TEST(PowerLaw, PredictsTheMeanOfNewValuesWithAnInterval) {
  const std::vector<double> sizes{100, 200, 400, 800}, values{4.1, 3.5, 3.05, 2.6};
  EXPECT_NEAR(power_law(sizes, values).at(1600), 2.2424942559134626, kFitRounding * 10);
  const auto of_one = prediction_interval(sizes, values, 1600);
  EXPECT_NEAR(of_one.low, 2.1417615255417797, kFitRounding * 10);
  EXPECT_NEAR(of_one.high, 2.347964714013991, kFitRounding * 10);
  const auto of_three = prediction_interval(sizes, values, 1600, 3);
  EXPECT_NEAR(of_three.low, 2.1559486982085745, kFitRounding * 10);
  EXPECT_NEAR(of_three.high, 2.3325139842072304, kFitRounding * 10);
  const auto by_three = prediction_interval({100, 200, 400}, {4.1, 3.5, 3.05}, 800);
  EXPECT_NEAR(by_three.low, 2.156884762122157, kFitRounding * 100);
  EXPECT_NEAR(by_three.high, 3.1864432139539063, kFitRounding * 100);
  EXPECT_TRUE(std::isnan(prediction_interval({100, 200}, {4.1, 3.5}, 400).low));
  EXPECT_THROW(prediction_interval(sizes, values, 0), std::logic_error);
}

// Coverage of new values at 1e8; the tolerance is that of the exponent's test.
TEST(PowerLaw, HasAPredictionIntervalThatCoversNewValues) {
  constexpr std::uint64_t kSimulations = 4000;
  constexpr double kExponent = 0.2, kNoise = 0.05, kLargest = 1e8;
  const std::vector<double> sizes{1e5, 3e5, 1e6, 3e6, 1e7, kLargest};
  const Philox random(2, "test/power_law");
  int covered = 0;
  for (std::uint64_t simulation = 0; simulation < kSimulations; ++simulation) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      values.push_back(std::pow(sizes[i], -kExponent) *
                       std::exp(kNoise * random.normal(i, simulation)));
    }
    const double measured = values.back();
    values.pop_back();
    const auto [low, high] =
        prediction_interval({sizes.begin(), sizes.end() - 1}, values, kLargest);
    covered += low <= measured && measured <= high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kSimulations, 0.95, 0.014);
}

// The standard error of a share of 95 % in 4,000 simulations is 0.35 points; four of them.
TEST(PowerLaw, HasAnIntervalThatCoversTheExponent) {
  constexpr std::uint64_t kSimulations = 4000;
  constexpr double kExponent = 0.2, kNoise = 0.05;
  const std::vector<double> sizes{1e5, 3e5, 1e6, 3e6, 1e7};
  const Philox random(1, "test/power_law");
  int covered = 0;
  for (std::uint64_t simulation = 0; simulation < kSimulations; ++simulation) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      values.push_back(std::pow(sizes[i], -kExponent) *
                       std::exp(kNoise * random.normal(i, simulation)));
    }
    const auto [low, high] = power_law(sizes, values).exponent_interval;
    covered += low <= kExponent && kExponent <= high ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(covered) / kSimulations, 0.95, 0.014);
}

}  // namespace
}  // namespace evenkeel::study
