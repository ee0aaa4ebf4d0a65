// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/interaction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "evenkeel/study/report/verdict_text.h"
#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

using Outcome = Verdict::Outcome;

/// The losses of LayerNorm and BatchNorm in batches of 1 and 16.
Results two_batches(const std::vector<double>& batch_norm_of_one) {
  Results results;
  results.study.axes = {axis("scheme", {"layer", "batch"}), axis("batch", {"1", "16"})};
  results.study.seeds = {1, 2, 3, 4};
  results.arms = {arm({{"scheme", "layer"}, {"batch", "1"}}, {1.0, 1.1, 1.2, 1.3}),
                  arm({{"scheme", "layer"}, {"batch", "16"}}, {1.0, 1.1, 1.2, 1.3}),
                  arm({{"scheme", "batch"}, {"batch", "1"}}, batch_norm_of_one),
                  arm({{"scheme", "batch"}, {"batch", "16"}}, {1.1, 1.21, 1.3, 1.4})};
  results.study.claims = {{.says = "small batches hurt BatchNorm",
                           .of = {{"scheme", "layer"}},
                           .than = {{"scheme", "batch"}},
                           .at = {{"batch", "1"}},
                           .than_at = {{"batch", "16"}}}};
  return results;
}

TEST(DifferenceOfDifferences, IsTestedSeedBySeed) {
  auto results = two_batches({1.5, 1.61, 1.7, 1.82});
  analyze_claims(results);
  ASSERT_EQ(results.verdicts.size(), 1U);
  const auto& verdict = results.verdicts[0];
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::supported);
  // -0.5, -0.51, -0.5, -0.52 less -0.1, -0.11, -0.1, -0.1
  EXPECT_NEAR(verdict.difference->mean, -(0.4 + 0.4 + 0.4 + 0.42) / 4, 1e-12);
  EXPECT_EQ(verdict.arm, "layer - batch (1)");
  EXPECT_EQ(verdict.reference, "layer - batch (16)");
  EXPECT_EQ(verdict.where, "");
  EXPECT_NE(sentence(results, verdict)
                .find("of layer - batch (1) is lower than of layer - batch (16) by 0.405"),
            std::string::npos)
      << sentence(results, verdict);
}

TEST(DifferenceOfDifferences, IsNotTestedWithFailuresNorBeforeAllRunsEnd) {
  for (const auto kind : {Claim::Kind::lower, Claim::Kind::equivalent}) {
    auto results = two_batches({1.5, kFailed, 1.7, 1.82});
    results.study.claims[0].kind = kind;
    results.study.claims[0].margin = 0.05;
    analyze_claims(results);
    const auto& verdict = results.verdicts[0];
    EXPECT_EQ(verdict.difference->pairs, 3);
    EXPECT_EQ(verdict.outcome, Outcome::not_tested);
    EXPECT_NE(sentence(results, verdict)
                  .find("needs runs that finish; 1 of 4 runs of layer - batch (1) failed"),
              std::string::npos)
        << sentence(results, verdict);
    results = two_batches({kFailed, kFailed, kFailed, 1.82});
    analyze_claims(results);
    EXPECT_EQ(results.verdicts[0].outcome, Outcome::not_tested);
    EXPECT_FALSE(sentence(results, results.verdicts[0]).empty());  // without a difference
  }
  auto results = two_batches({1.5, 1.61, 1.7, 1.82});
  results.arms[1].seed_runs[2].state = SeedRun::State::missing;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::not_tested);
}

TEST(DifferenceOfDifferences, NamesCrashedRuns) {
  for (const auto state : {SeedRun::State::crashed, SeedRun::State::missing}) {
    auto results = two_batches({1.5, 1.61, 1.7, 1.82});
    results.arms[1].seed_runs[2].state = state;
    analyze_claims(results);
    const auto said = sentence(results, results.verdicts.at(0));
    const auto* const verb = state == SeedRun::State::crashed ? "crashed" : "is missing";
    EXPECT_TRUE(said.ends_with(std::string("; 1 of 4 runs of layer - batch (16) ") + verb)) << said;
  }
}

TEST(DifferenceOfDifferences, OfTimesIsNotTestedOnABusyMachine) {
  auto results = two_batches({1.5, 1.61, 1.7, 1.82});
  results.study.claims[0].measure = {.kind = Measure::Kind::step_time};
  for (auto& each : results.arms) {
    for (auto& run : each.seed_runs) {
      run.run.step_seconds.add(1, run.value);
      run.run.cpu_contention = 0;
    }
  }
  results.arms[3].seed_runs[1].run.cpu_contention = 0.4;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::not_tested);
}

TEST(DifferenceOfDifferences, CanBeWithinAMargin) {
  auto results = two_batches({1.1, 1.2, 1.3, 1.41});
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.05;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Verdict::Outcome::supported);
}

TEST(DifferenceOfDifferences, IsOfSweeps) {
  auto results = two_batches({1.5, 1.61, 1.7, 1.82});
  results.study.axes.push_back(axis("schedule.peak", {"1", "2"}));
  const auto one_rate = results.arms;
  results.arms.clear();
  for (const char* rate : {"1", "2"}) {
    for (auto each : one_rate) {
      each.labels["schedule.peak"] = rate;
      for (auto& run : each.seed_runs) {
        run.run.validation_loss.y.back() += rate == std::string("2") ? 1 : 0;
      }
      results.arms.push_back(each);
    }
  }
  results.study.claims[0].measure = {
      .kind = Measure::Kind::sweep, .axis = "schedule.peak", .cap = 9};
  for (auto& each : results.arms) {
    for (auto& run : each.seed_runs) run.value = run.run.validation_loss.y.back();
  }
  analyze_claims(results);
  ASSERT_EQ(results.verdicts.size(), 1U);
  EXPECT_NEAR(results.verdicts[0].difference->mean, -0.405, 1e-12);
  EXPECT_EQ(results.verdicts[0].arm, "layer - batch (1)");
}

/// two_batches() with the second claim that LayerNorm is better in batches of 16; its p is 0.031.
Results with_claim_of_one_batch() {
  auto results = two_batches({1.5, kFailed, 1.7, 1.82});
  results.arms[1] = arm({{"scheme", "layer"}, {"batch", "16"}}, {1.0, 1.15, 1.2, 1.2});
  for (auto& each : results.arms) each.name += ", batch " + each.labels.at("batch");
  results.study.claims.push_back({.says = "LayerNorm is better",
                                  .of = {{"scheme", "layer"}},
                                  .than = {{"scheme", "batch"}},
                                  .at = {{"batch", "16"}}});
  return results;
}

// Holm multiplies the smallest p of m by m. The difference of differences has p 0.0068 where it is
// not refused: then the other p of 0.031 would have the factor 1 and be significant.
TEST(DifferenceOfDifferences, HasThePValueOneInHolmsFamilyWhereItIsRefused) {
  for (const auto kind : {Claim::Kind::lower, Claim::Kind::equivalent}) {
    auto results = with_claim_of_one_batch();
    results.study.claims[0].kind = kind;
    results.study.claims[0].margin = 0.05;
    analyze_claims(results);
    ASSERT_EQ(results.verdicts.size(), 2U);
    const auto& refused = results.verdicts[0];
    EXPECT_EQ(refused.outcome, Outcome::not_tested);
    EXPECT_EQ(refused.p, 1);
    EXPECT_EQ(refused.p_nonequivalence, 1);
    EXPECT_EQ(std::isnan(refused.sign_flip_p), kind == Claim::Kind::equivalent);
    if (kind == Claim::Kind::lower) {
      EXPECT_EQ(refused.sign_flip_p, 1);
    }
    const auto& tested = results.verdicts[1];
    const double hypotheses = kind == Claim::Kind::equivalent ? 3 : 2;  // `equivalent` has two
    ASSERT_TRUE(tested.difference);
    EXPECT_NEAR(tested.difference->p, 0.0309, 1e-4);
    EXPECT_NEAR(tested.p, hypotheses * tested.difference->p, 1e-12);
    EXPECT_NEAR(tested.sign_flip_p, hypotheses * tested.difference->sign_flip_p, 1e-12);
    EXPECT_EQ(tested.outcome, Outcome::inconclusive);
  }
}

TEST(DifferenceOfDifferences, HasThePValueOneWhereBothFailEquallyOrOneAlways) {
  auto alike = two_batches({1.1, kFailed, 1.3, 1.41});
  alike.arms[1] = arm({{"scheme", "layer"}, {"batch", "16"}}, {1.0, kFailed, 1.2, 1.3});
  alike.study.claims[0].kind = Claim::Kind::equivalent;
  alike.study.claims[0].margin = 0.05;  // TOST of the three pairs: p 0.0025
  auto verdict = first_verdict(alike);
  EXPECT_EQ(verdict.outcome, Outcome::not_tested);
  EXPECT_EQ(verdict.p, 1);
  verdict = first_verdict(two_batches({kFailed, kFailed, kFailed, kFailed}));  // Fisher: 2 / 70
  EXPECT_EQ(verdict.outcome, Outcome::not_tested);
  EXPECT_FALSE(verdict.difference);
  EXPECT_FALSE(verdict.is_failure_test);
  EXPECT_EQ(verdict.p, 1);
}

}  // namespace
}  // namespace evenkeel::study
