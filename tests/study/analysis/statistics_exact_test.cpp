// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "evenkeel/study/analysis/statistics.h"

// Exact tests of how often something happens, and tests of equivalence.
namespace evenkeel::study {
namespace {

// The lady tasting tea: 3 of 4 right in either kind of cup, two-sided (1 + 16 + 16 + 1) / 70.
TEST(FisherExact, GivesTheKnownPValues) {
  EXPECT_NEAR(fisher_exact_p(3, 4, 1, 4), 34.0 / 70, 1e-12);
  EXPECT_NEAR(fisher_exact_p(4, 4, 0, 4), 2.0 / 70, 1e-12);
  EXPECT_NEAR(fisher_exact_p(3, 3, 0, 3), 2.0 / 20, 1e-12);
  EXPECT_NEAR(fisher_exact_p(2, 5, 2, 5), 1, 1e-12);
  EXPECT_EQ(fisher_exact_p(0, 3, 0, 3), 1);
}

TEST(SignTest, GivesTheExactBinomial) {
  EXPECT_NEAR(sign_test_p(6, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(sign_test_p(0, 6), 2.0 / 64, 1e-12);
  EXPECT_NEAR(sign_test_p(5, 1), 14.0 / 64, 1e-12);
  EXPECT_EQ(sign_test_p(0, 0), 1);
  EXPECT_EQ(sign_test_p(3, 3), 1);
}

TEST(TostP, AndNonequivalencePAreOppositeClaims) {
  const auto far = paired_test({1.0, 1.1, 0.9, 1.0}), near = paired_test({0.01, -0.01, 0.0, 0.005});
  EXPECT_LT(nonequivalence_p(far, 0.1), 0.001);
  EXPECT_GT(nonequivalence_p(near, 0.1), 0.999);
  EXPECT_NEAR(nonequivalence_p(near, 0.1) + tost_p(near, 0.1), 1, 1e-9);
}

}  // namespace
}  // namespace evenkeel::study
