// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace evenkeel::study {
namespace {

// scipy: permutation_test((x,), numpy.mean, permutation_type="samples") of x and all its signs.
TEST(SignFlipP, IsTheShareOfAllAssignments) {
  EXPECT_EQ(sign_flip_p({}), 1);
  EXPECT_EQ(sign_flip_p({2}), 1);
  EXPECT_EQ(sign_flip_p({1, 2, 3}), 0.25);
  EXPECT_EQ(sign_flip_p({-1, 2, 3}), 0.5);
  EXPECT_EQ(sign_flip_p({0, 0, 0, 0}), 1);
  EXPECT_EQ(sign_flip_p({1, 1, 1, 1, 1, 1}), 2.0 / 64);
  // Student's sleepers: 2 of 1,024, twice as the difference of 0 has two signs.
  EXPECT_EQ(sign_flip_p({1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4}), 4.0 / 1024);
}

TEST(SignFlipP, DependsNeitherOnTheUnitNorOnTheOrder) {
  const std::vector<double> values{0.3, -0.1, 0.25, 0.4, -0.2, 0.1, 0.15};
  const std::vector<double> reversed(values.rbegin(), values.rend());
  std::vector<double> scaled;
  for (const double value : values) scaled.push_back(-0x1p-30 * value);
  EXPECT_EQ(sign_flip_p(values), sign_flip_p(reversed));
  EXPECT_EQ(sign_flip_p(values), sign_flip_p(scaled));
}

// 0.1 + 0.2 + 0.3 - 0.4 is 7e-17 above the rounded 0.2 of -0.1 + 0.2 - 0.3 + 0.4: they are a tie.
TEST(SignFlipP, CountsSumsThatDifferByRoundingAsTies) {
  EXPECT_EQ(sign_flip_p({1, 2, 3, -4}), 0.875);
  EXPECT_EQ(sign_flip_p({0.1, 0.2, 0.3, -0.4}), 0.875);
  EXPECT_EQ(sign_flip_p({0.1, 0.2, -0.3}), 1);  // the sum is 6e-17
}

// All assignments, one at a time; integers, so that many sums tie with the observed one.
TEST(SignFlipP, CountsEveryAssignmentOfAnyNumberOfPairs) {
  for (unsigned pairs = 1; pairs <= 13; ++pairs) {
    std::vector<double> values;
    for (unsigned i = 0; i < pairs; ++i) values.push_back(static_cast<double>(i * 7 % 5) - 1);
    const double observed = std::abs(std::accumulate(values.begin(), values.end(), 0.0));
    int reached = 0;
    for (unsigned signs = 0; signs < 1U << pairs; ++signs) {
      double sum = 0;
      for (unsigned i = 0; i < pairs; ++i) sum += (signs >> i & 1U) != 0 ? -values[i] : values[i];
      reached += std::abs(sum) >= observed ? 1 : 0;
    }
    EXPECT_EQ(sign_flip_p(values), std::ldexp(reached, -static_cast<int>(pairs))) << pairs;
  }
}

/// sign_flip_p() of integers: the number of assignments of each sum, one value after the other.
double p_by_counting_sums(const std::vector<double>& values) {
  std::map<int, double> counts{{0, 1}};
  for (const double value : values) {
    std::map<int, double> next;
    for (const auto& [sum, count] : counts) {
      next[sum + static_cast<int>(value)] += count;
      next[sum - static_cast<int>(value)] += count;
    }
    counts = next;
  }
  const double observed = std::abs(std::accumulate(values.begin(), values.end(), 0.0));
  double reached = 0;
  for (const auto& [sum, count] : counts) reached += std::abs(sum) >= observed ? count : 0;
  return std::ldexp(reached, -static_cast<int>(values.size()));
}

TEST(SignFlipP, IsExactUpToItsLimit) {
  for (const int pairs : {17, 20, 31, 32}) {
    std::vector<double> values;
    for (int i = 0; i < pairs; ++i) values.push_back(i * 11 % 17 - 6);
    EXPECT_EQ(sign_flip_p(values), p_by_counting_sums(values)) << pairs;
  }
}

// Above the limit random assignments are drawn: their p is near the exact one of a pair less.
TEST(SignFlipP, DrawsAssignmentsOfManyPairs) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kExactFlipPairs; ++i)
    values.push_back(std::sin(static_cast<double>(i)) + 0.3);
  const double exact = sign_flip_p(values);
  values.push_back(0);
  EXPECT_NEAR(sign_flip_p(values), exact, 0.01);
  EXPECT_EQ(sign_flip_p(std::vector<double>(200, 1.0)), 1.0 / 5000);
}

}  // namespace
}  // namespace evenkeel::study
