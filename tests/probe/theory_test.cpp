// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/probe/theory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/probe/bounds.h"

namespace evenkeel {
namespace {

using probe::Bound;
using probe::Placement;

constexpr double kTolerance = 1e-12;

void expect_bound(const Bound& found, double corrected, double printed) {
  EXPECT_NEAR(found.corrected, corrected, kTolerance * corrected);
  EXPECT_NEAR(found.printed, printed, kTolerance * printed);
}

// s = 2, d = dk = 4, and W = w I has |W| = sig = w and |W|_F = 2 w.
class Bounds : public ::testing::Test {
 protected:
  static probe::Head scaled_identities() {
    const auto eye = at::eye(4, at::kDouble);
    return {.x = at::ones({2, 4}, at::kDouble),
            .weights = {.output = eye * 2, .value = eye * 3, .query = eye * 5, .key = eye * 7}};
  }
};

TEST_F(Bounds, OfPreAreTheFormulas) {
  const auto all = probe::bounds(Placement::pre, scaled_identities());
  expect_bound(all.output, 2 * 4 * 3, 2 * 2 * 3);
  expect_bound(all.value, 2 * 2 * 4, 2 * 4);
  expect_bound(all.query, std::pow(8, 1.5) / 4 * 7 * 3 * 2, std::pow(2, 1.5) / 4 * 7 * 3 * 2);
  expect_bound(all.key, std::pow(8, 1.5) / 4 * 5 * 3 * 2, std::pow(2, 1.5) / 4 * 5 * 3 * 2);
}

TEST_F(Bounds, OfPreWithQkNormAreTheFormulas) {
  const auto all = probe::bounds(Placement::pre_qk, scaled_identities());
  const auto root = std::sqrt(8);
  expect_bound(all.output, 2 * 4 * 3, 2 * 2 * 3);
  expect_bound(all.value, 2 * 2 * 4, 2 * 4);
  expect_bound(all.query, 2 * 4 * root / (2 * 5) * 3 * 2, 2 * root / (2 * 5) * 3 * 2);
  expect_bound(all.key, 2 * 4 * root / (2 * 7) * 3 * 2, 2 * root / (2 * 7) * 3 * 2);
}

TEST_F(Bounds, OfQkvAreTheFormulas) {
  const auto all = probe::bounds(Placement::qkv, scaled_identities());
  const auto root = std::sqrt(8);
  expect_bound(all.output, 2 * 4, 2 * 2);
  expect_bound(all.value, 2 * 4 / 3.0 * 2, 2 * 4 / 3.0 * 2);
  expect_bound(all.query, 2 * 4 * root / (2 * 5) * 2, 2 * root / (2 * 5) * 2);
  expect_bound(all.key, 2 * 4 * root / (2 * 7) * 2, 2 * root / (2 * 7) * 2);
}

TEST(Theory, HoldsForHeadsOfManyShapes) {
  for (const auto& [s, d] : {std::pair{2, 2}, {2, 12}, {9, 3}, {6, 8}}) {
    const auto result = probe::theory({.seeds = 2, .sequence = s, .width = d});
    EXPECT_EQ(result.rows.size(), 12U);
    for (const auto& claim : result.claims) {
      EXPECT_TRUE(claim.holds()) << claim.subject << ": " << claim.statement << ": "
                                 << claim.measured << " at s " << s << ", d " << d;
    }
  }
}

TEST(Theory, RefutesABoundThatOneHeadExceeds) {
  auto rows = probe::bound_rows({.seeds = 2, .sequence = 3, .width = 4});
  EXPECT_EQ(probe::refuted_count(probe::bound_claims(rows)), 0U);
  rows[5].ratio_to_corrected = 1.001;
  EXPECT_EQ(probe::refuted_count(probe::bound_claims(rows)), 1U);
}

// The share of a bound is that of the head that comes nearest, so it never falls with more heads.
TEST(Theory, KeepsTheWorstHead) {
  const auto few = probe::bound_rows({.seeds = 2, .sequence = 3, .width = 4});
  const auto many = probe::bound_rows({.seeds = 8, .sequence = 3, .width = 4});
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_GE(many[i].ratio_to_corrected, few[i].ratio_to_corrected);
    EXPECT_NEAR(many[i].norm, many[i].ratio_to_corrected * many[i].bound.corrected,
                kTolerance * many[i].norm);
  }
}

// At s = 1 the printed bounds are wrong by sqrt(d), whatever d is.
TEST(Theory, CountsTheExamplesAgainstThePrintedBounds) {
  for (const std::int64_t width : {2, 9, 16}) {
    const auto claims = probe::counter_examples(width);
    ASSERT_EQ(claims.size(), 4U);
    EXPECT_EQ(probe::refuted_count(claims), 0U);
    EXPECT_NEAR(claims[0].measured, static_cast<double>(width), 1e-9);
    EXPECT_NEAR(claims[1].limit, std::sqrt(static_cast<double>(width)), 1e-9);
  }
}

// c^power of another power: the error is that of the factor c that is farthest from the rule,
//   |c^a - c^p| / c^p,   a the true power, p that of the rule, c from 1/4 to 16
TEST(Theory, RefutesScalingRulesOfAnotherPower) {
  using Weights = probe::PerWeight<at::Tensor>;
  const std::vector<std::size_t> output = {0}, value = {1}, query = {2};
  const std::vector<probe::ScalingRule> wrong = {
      {Placement::pre, &Weights::value, "W_V", output, 0},    // a 1: 16 - 1
      {Placement::pre_qk, &Weights::value, "W_V", query, 2},  // a 1: 4 - 1
      {Placement::qkv, &Weights::value, "W_V", query, 1},     // a 0: 4 - 1
      {Placement::qkv, &Weights::query, "W_Q", query, 0},     // a -1: 4 - 1
      {Placement::pre, &Weights::value, "W_V", value, 1},     // a 0: 4 - 1
  };
  const auto claims = probe::scaling_claims({.seeds = 2, .sequence = 3, .width = 4}, wrong);
  ASSERT_EQ(claims.size(), wrong.size());
  EXPECT_EQ(probe::refuted_count(claims), wrong.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_NEAR(claims[i].measured, i == 0 ? 15 : 3, 1e-9) << claims[i].statement;
    EXPECT_FALSE(claims[i].holds()) << claims[i].statement;
  }
}

TEST(Theory, RefutesAScalingRuleThatIsOffByMoreThanRounding) {
  auto claims = probe::scaling_claims({.seeds = 1, .sequence = 3, .width = 4});
  ASSERT_EQ(claims.size(), 10U);
  EXPECT_EQ(probe::refuted_count(claims), 0U);
  for (auto& claim : claims) claim.measured = 1e-9;
  EXPECT_EQ(probe::refuted_count(claims), claims.size());
}

// The attention weights of one token are constant: the Jacobians of W_Q and W_K are 0, and the
// claims about them have no measurement.
TEST(Theory, DoesNotConfirmTheScalingOfJacobiansThatAreZero) {
  for (const auto& claim : probe::scaling_claims({.seeds = 1, .sequence = 1, .width = 4})) {
    const bool is_of_output = claim.statement.find("dS/dW_O") != std::string::npos;
    EXPECT_EQ(claim.holds(), is_of_output) << claim.subject << ": " << claim.statement;
  }
}

}  // namespace
}  // namespace evenkeel
