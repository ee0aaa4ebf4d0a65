// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "evenkeel/study/analysis/statistics.h"

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
  for (const int pairs : {17, 20, 31, 32, 33, 40}) {
    std::vector<double> values;
    for (int i = 0; i < pairs; ++i) values.push_back(i * 11 % 17 - 6);
    EXPECT_EQ(sign_flip_p(values), p_by_counting_sums(values)) << pairs;
  }
}

// numpy: the sums of the first 20 and of the last 20, 2^20 each; 0.65 % of their pairs reach it.
TEST(SignFlipP, IsExactOfFortyDifferentSizes) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(std::sin(i) + 0.3);
  EXPECT_NEAR(sign_flip_p(values), 0.0064530958770774305, 1e-9);
}

// Above the limit equal sizes and small integers have few sums. Equal sizes: the binomial tail.
TEST(SignFlipP, IsExactOfManyPairsWithFewSums) {
  std::vector<double> signs(60, 0.01), integers;
  std::fill_n(signs.begin(), 20, -0.01);
  EXPECT_NEAR(sign_flip_p(signs), sign_test_p(40, 20), 1e-12);
  for (int i = 0; i < 60; ++i) integers.push_back(i * 11 % 17 - 6);
  EXPECT_NEAR(sign_flip_p(integers), p_by_counting_sums(integers), 1e-12);
  EXPECT_EQ(sign_flip_p(std::vector<double>(50, 0.0)), 1);
}

// Only their own assignment and its opposite reach the sum; 0 has two signs.
TEST(SignFlipP, IsExactOfManyPairsWithOneSign) {
  EXPECT_EQ(sign_flip_p(std::vector<double>(200, 1.0)), std::ldexp(1.0, -199));
  std::vector<double> values(5, 0.0);
  for (int i = 0; i < 45; ++i) values.push_back(-std::sqrt(i + 1));
  EXPECT_EQ(sign_flip_p(values), std::ldexp(1.0, -44));
}

// Above the limit random assignments are drawn: their p is near the exact one of a pair less.
TEST(SignFlipP, DrawsAssignmentsOfManyPairs) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kExactFlipPairs; ++i)
    values.push_back(std::sin(static_cast<double>(i)) + 0.3);
  const double exact = sign_flip_p(values);
  values.push_back(1e-6);  // doubles the sums, and hardly changes them
  EXPECT_NEAR(sign_flip_p(values), exact, 0.01);
  std::vector<double> agreeing{-1e-3};
  for (int i = 0; i < 199; ++i) agreeing.push_back(1 + std::sqrt(i));
  EXPECT_EQ(sign_flip_p(agreeing), 1.0 / 5000);
}

TEST(SignFlipTest, HasTheSmallestPOfItsMethod) {
  EXPECT_EQ(sign_flip_test({}).smallest_p, 1);
  EXPECT_EQ(sign_flip_test({-1, 2, 3}).smallest_p, 0.25);
  // More pairs than kExactFlipPairs, with few sums, and with one sign: exact.
  std::vector<double> signs(60, 0.01), agreeing;
  std::fill_n(signs.begin(), 20, -0.01);
  EXPECT_EQ(sign_flip_test(signs).smallest_p, std::ldexp(1.0, -59));
  for (int i = 0; i < 60; ++i) agreeing.push_back(1 + std::sqrt(i));
  EXPECT_EQ(sign_flip_test(agreeing).smallest_p, std::ldexp(1.0, -59));
  // Drawn.
  agreeing.front() = -1e-3;
  EXPECT_EQ(sign_flip_test(agreeing).smallest_p, 1.0 / 5000);
  EXPECT_EQ(sign_flip_test(agreeing).p, 1.0 / 5000);
}

TEST(SmallestSignFlipP, IsThatOfDifferencesWithOneSign) {
  for (const std::int64_t pairs : {1, 2, 6, 32, 33, 40, 100}) {
    const std::vector<double> equal(static_cast<std::size_t>(pairs), 0.02);
    EXPECT_EQ(smallest_sign_flip_p(pairs), sign_flip_p(equal)) << pairs;
  }
  EXPECT_GT(smallest_sign_flip_p(5000), 0);
}

}  // namespace
}  // namespace evenkeel::study
