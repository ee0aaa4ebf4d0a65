// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sign_flip.h"

#include <gtest/gtest.h>

#include <cmath>
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

// Above the limit random assignments are drawn: their p is near the exact one of a pair less.
TEST(SignFlipP, DrawsAssignmentsOfManyPairs) {
  std::vector<double> values;
  for (int i = 0; i < 16; ++i) values.push_back(std::sin(i) + 0.3);
  const double exact = sign_flip_p(values);
  values.push_back(0);
  EXPECT_NEAR(sign_flip_p(values), exact, 0.02);
  EXPECT_EQ(sign_flip_p(std::vector<double>(200, 1.0)), 1.0 / 5000);
}

}  // namespace
}  // namespace evenkeel::study
