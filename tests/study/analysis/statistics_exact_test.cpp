// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "evenkeel/study/analysis/statistics.h"

// Exact tests of how often something happens, tests of equivalence, and corrections.
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
  EXPECT_NEAR(nonequivalence_p(near, 0.1), 1, 1e-4);
  // With a margin of 0 it is the two-sided test of no difference.
  EXPECT_NEAR(nonequivalence_p(near, 0), near.p, 1e-12);
}

// Without variance all tests are the sign-flip test, at every number of pairs.
TEST(PairedTest, OfEqualDifferencesIsTheSignFlipTest) {
  for (const int pairs : {2, 3, 32, 33, 40, 60}) {
    const auto equal = paired_test(std::vector<double>(static_cast<std::size_t>(pairs), 0.02));
    const double p = std::ldexp(1.0, 1 - pairs);
    EXPECT_EQ(equal.p, p) << pairs;
    EXPECT_EQ(tost_p(equal, 0.03), p) << pairs;
    EXPECT_EQ(nonequivalence_p(equal, 0.01), p) << pairs;
  }
}

// With 2 pairs, t has one degree of freedom (Cauchy): P(T > t) = atan(1 / t) / pi for t > 0. The
// values 1 and 3 have the mean 2 and the standard error 1.
TEST(NonequivalenceP, IsTheSumOfBothTailsAtTheMargin) {
  const auto tail = [](double t) { return std::atan(1 / t) / std::numbers::pi; };
  const auto difference = paired_test({1, 3}), mirrored = paired_test({-1, -3});
  for (const double margin : {0.5, 1.0, 1.5}) {
    const double p = tail(2 - margin) + tail(2 + margin);
    EXPECT_NEAR(nonequivalence_p(difference, margin), p, 1e-12) << margin;
    EXPECT_NEAR(nonequivalence_p(mirrored, margin), p, 1e-12) << margin;
  }
}

// R: p.adjust(p, "holm").
TEST(Holm, GivesTheNumbersOfR) {
  const auto corrected = holm({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
  ASSERT_EQ(corrected.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(corrected[i], expected[i], 1e-12);
  }
}

// R: p.adjust(p, "BH").
TEST(BenjaminiHochberg, GivesTheNumbersOfR) {
  const auto corrected = benjamini_hochberg({0.01, 0.04, 0.03, 0.005, 0.9});
  const std::vector<double> expected{0.025, 0.05, 0.05, 0.025, 0.9};
  ASSERT_EQ(corrected.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(corrected[i], expected[i], 1e-12);
  }
  // 0.06 without the minimum over larger p-values
  EXPECT_NEAR(benjamini_hochberg({0.04, 0.041, 0.001})[0], 0.041, 1e-12);
  EXPECT_EQ(benjamini_hochberg({}), std::vector<double>{});
  EXPECT_THROW(benjamini_hochberg({2}), std::logic_error);
}

TEST(Holm, TreatsTiesEquallyAndStopsAtOne) {
  EXPECT_EQ(holm({}), std::vector<double>{});
  EXPECT_EQ(holm({0.3}), std::vector<double>{0.3});
  EXPECT_EQ(holm({0.25, 0.125, 0.125}), (std::vector<double>{0.375, 0.375, 0.375}));
  EXPECT_EQ(holm({0.9, 0.6}), (std::vector<double>{1, 1}));
  EXPECT_THROW(holm({std::nan("")}), std::logic_error);
}

}  // namespace
}  // namespace evenkeel::study
