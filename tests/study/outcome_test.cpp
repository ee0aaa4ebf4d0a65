// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/outcome.h"

#include <gtest/gtest.h>

#include "study/sample.h"

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
  const auto lower = measured(Outcome::holds, -0.03, {-0.04, -0.02});
  const auto higher = measured(Outcome::contradicted, 0.03, {0.02, 0.04});
  EXPECT_EQ(direction_of(published(-0.1), lower), Direction::agrees);
  EXPECT_EQ(direction_of(published(-0.1), higher), Direction::disagrees);
  EXPECT_EQ(direction_of(published(0.1), higher), Direction::agrees);
}

TEST(Direction, IsUndecidedWhereOursMayBeNone) {
  EXPECT_EQ(direction_of(published(-0.1), measured(Outcome::undecided, -0.03, {-0.07, 0.01})),
            Direction::undecided);
  // Told apart alone, but not among all that was asked.
  EXPECT_EQ(direction_of(published(-0.1), measured(Outcome::undecided, -0.03, {-0.06, -0.001})),
            Direction::undecided);
}

TEST(Direction, IsThatOfTheClaimWhereThePaperGivesNoNumber) {
  const Claim claim{.kind = Claim::Kind::fails, .source = "Figure 4"};
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::holds}), Direction::agrees);
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::contradicted}), Direction::disagrees);
  EXPECT_EQ(direction_of(claim, {.outcome = Outcome::undecided}), Direction::undecided);
}

// Alike within 0.01: a difference of 0.003 has no sign that could agree.
TEST(Direction, OfWhatIsPublishedAsAlikeIsThatItIs) {
  const Claim claim{.kind = Claim::Kind::alike, .margin = 0.01, .paper = 0.003};
  EXPECT_EQ(direction_of(claim, measured(Outcome::holds, -0.002, {-0.004, -0.001})),
            Direction::agrees);
  EXPECT_EQ(direction_of(claim, measured(Outcome::contradicted, 0.05, {0.04, 0.06})),
            Direction::disagrees);
  EXPECT_EQ(direction_of(claim, measured(Outcome::undecided, 0.01, {0.0, 0.02})),
            Direction::undecided);
}

TEST(Direction, IsUnknownWithoutAMeasurementOrAPaper) {
  EXPECT_EQ(direction_of(published(-0.1), {}), Direction::unknown);
  for (const char* source : {"", "not in the paper", "what a leak would do"}) {
    EXPECT_EQ(direction_of({.source = source}, {.outcome = Outcome::holds}), Direction::unknown);
  }
  EXPECT_EQ(direction_of({}, measured(Outcome::holds, -0.03, {-0.04, -0.02})), Direction::unknown);
}

TEST(Summary, CountsTheOutcomes) {
  Results results;
  EXPECT_EQ(summary_of(results), "The study makes no claim.");
  results.study.claims.emplace_back();
  EXPECT_EQ(summary_of(results), "No claim is measured yet.");
  results.verdicts = {{.outcome = Outcome::holds}};
  EXPECT_EQ(summary_of(results), "Of 1 outcome 1 holds.");
  results.verdicts = {{.outcome = Outcome::holds},        {.outcome = Outcome::holds},
                      {.outcome = Outcome::contradicted}, {.outcome = Outcome::undecided},
                      {.outcome = Outcome::unmeasured},   {.outcome = Outcome::unmeasured}};
  EXPECT_EQ(summary_of(results),
            "Of 6 outcomes 2 hold, 1 is contradicted, 1 is undecided, 2 are not measured.");
}

}  // namespace
}  // namespace evenkeel::study
