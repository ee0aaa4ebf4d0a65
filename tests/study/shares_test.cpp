// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "evenkeel/study/statistics.h"

// Exact tests of how often something happens, and tests of equivalence.
namespace evenkeel::study {
namespace {

// The lady tasting tea: 3 of 4 right in either kind of cup, two-sided (1 + 16 + 16 + 1) / 70.
TEST(Shares, AreComparedByFishersExactTest) {
  EXPECT_NEAR(p_of_shares(3, 4, 1, 4), 34.0 / 70, 1e-12);
  EXPECT_NEAR(p_of_shares(4, 4, 0, 4), 2.0 / 70, 1e-12);
  EXPECT_NEAR(p_of_shares(3, 3, 0, 3), 2.0 / 20, 1e-12);
  EXPECT_NEAR(p_of_shares(2, 5, 2, 5), 1, 1e-12);
  EXPECT_EQ(p_of_shares(0, 3, 0, 3), 1);
}

TEST(Signs, AreComparedByTheExactBinomial) {
  EXPECT_NEAR(p_of_signs(6, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(p_of_signs(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(p_of_signs(5, 1), 14.0 / 64, 1e-12);
  EXPECT_EQ(p_of_signs(0, 0), 1);
  EXPECT_EQ(p_of_signs(3, 3), 1);
}

TEST(Alike, AndBeyondAreOppositeClaims) {
  const auto far = paired({1.0, 1.1, 0.9, 1.0}), near = paired({0.01, -0.01, 0.0, 0.005});
  EXPECT_LT(p_of_beyond(far, 0.1), 0.001);
  EXPECT_GT(p_of_beyond(near, 0.1), 0.999);
  EXPECT_NEAR(p_of_beyond(near, 0.1) + p_of_alike(near, 0.1), 1, 1e-9);
}

}  // namespace
}  // namespace evenkeel::study
