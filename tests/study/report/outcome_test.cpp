// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/outcome.h"

#include <gtest/gtest.h>

#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

using Outcome = Verdict::Outcome;

Claim published(double paper) {
  return {.kind = Claim::Kind::lower, .paper = paper};
}

Verdict measured(Outcome outcome, double mean, const Interval& interval) {
  return {.outcome = outcome, .difference = PairedDifference{.mean = mean, .interval = interval}};
}

TEST(Direction, IsTheSignOfOursAgainstThatOfThePaper) {
  const auto lower = measured(Outcome::supported, -0.03, {-0.04, -0.02});
  const auto higher = measured(Outcome::contradicted, 0.03, {0.02, 0.04});
  EXPECT_EQ(direction_of(published(-0.1), lower), Direction::agrees);
  EXPECT_EQ(direction_of(published(-0.1), higher), Direction::disagrees);
  EXPECT_EQ(direction_of(published(0.1), higher), Direction::agrees);
}

TEST(Direction, IsInconclusiveWhereOursMayBeZero) {
  EXPECT_EQ(direction_of(published(-0.1), measured(Outcome::inconclusive, -0.03, {-0.07, 0.01})),
            Direction::inconclusive);
  // Significant alone, but not after the correction for all claims.
  EXPECT_EQ(direction_of(published(-0.1), measured(Outcome::inconclusive, -0.03, {-0.06, -0.001})),
            Direction::inconclusive);
}

TEST(Direction, IsThatOfTheClaimWhereThePaperGivesNoNumber) {
  const Claim claim{.kind = Claim::Kind::fails, .source = "Figure 4"};
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::supported}), Direction::agrees);
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::contradicted}), Direction::disagrees);
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::inconclusive}), Direction::inconclusive);
}

// Alike within 0.01: a difference of 0.003 has no sign that could agree.
TEST(Direction, OfAnEquivalenceClaimIgnoresTheSign) {
  const Claim claim{.kind = Claim::Kind::equivalent, .margin = 0.01, .paper = 0.003};
  EXPECT_EQ(direction_of(claim, measured(Outcome::supported, -0.002, {-0.004, -0.001})),
            Direction::agrees);
  EXPECT_EQ(direction_of(claim, measured(Outcome::contradicted, 0.05, {0.04, 0.06})),
            Direction::disagrees);
  EXPECT_EQ(direction_of(claim, measured(Outcome::inconclusive, 0.01, {0.0, 0.02})),
            Direction::inconclusive);
}

TEST(Direction, IsUnknownWithoutAMeasurementOrAPaper) {
  EXPECT_EQ(direction_of(published(-0.1), {}), Direction::unknown);
  for (const char* source : {"", "not in the paper", "what a leak would do"}) {
    EXPECT_EQ(direction_of({.source = source}, {.outcome = Outcome::supported}),
              Direction::unknown);
  }
  EXPECT_EQ(direction_of({}, measured(Outcome::supported, -0.03, {-0.04, -0.02})),
            Direction::unknown);
}

TEST(OutcomeSummary, CountsTheOutcomes) {
  Results results;
  EXPECT_EQ(outcome_summary(results), "The study makes no claim.");
  results.study.claims.emplace_back();
  EXPECT_EQ(outcome_summary(results), "No claim is measured yet.");
  results.verdicts = {{.outcome = Outcome::supported}};
  EXPECT_EQ(outcome_summary(results), "1 outcome: 1 is supported.");
  results.verdicts = {{.outcome = Outcome::supported},    {.outcome = Outcome::supported},
                      {.outcome = Outcome::contradicted}, {.outcome = Outcome::inconclusive},
                      {.outcome = Outcome::not_measured}, {.outcome = Outcome::not_measured}};
  EXPECT_EQ(
      outcome_summary(results),
      "6 outcomes: 2 are supported, 1 is contradicted, 1 is inconclusive, 2 are not measured.");
}

}  // namespace
}  // namespace evenkeel::study
