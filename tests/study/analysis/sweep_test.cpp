// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/report/sweep_columns.h"
#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

using Sweep = Measure::Sweep;

constexpr double kDiverged = std::numeric_limits<double>::infinity();
const std::vector<double> kRates{1, 2, 4};

TEST(SweepValues, AreTheLossesAtAClearlyBestValue) {
  const std::vector<std::vector<double>> losses{{5, 1, 3}, {6, 1.5, 4}, {5, 1.25, 3}};
  const auto found = sweep_values(Sweep::best, kRates, losses, 9);
  for (std::size_t seed = 0; seed < 3; ++seed) EXPECT_NEAR(found[seed], losses[seed][1], 1e-12);
}

TEST(SweepValues, HaveTheLowestMeanAndTheDeviationsOfTheJackknife) {
  // The means are 3, 3 and 4.5. Without seed 0 the lowest is 10/3, without seed 1 it is 7/3:
  // pseudo-values 4 * 3 - 10 and 4 * 3 - 7, less the half by which their mean exceeds 3.
  const auto found =
      sweep_values(Sweep::best, kRates, {{1, 2, 3}, {5, 4, 6}, {1, 2, 3}, {5, 4, 6}}, 9);
  const std::vector<double> wanted{1.5, 4.5, 1.5, 4.5};
  for (std::size_t seed = 0; seed < 4; ++seed) EXPECT_NEAR(found[seed], wanted[seed], 1e-12);
  EXPECT_TRUE(std::isnan(sweep_values(Sweep::best, kRates, {{1, 2, 3}}, 9)[0]));
}

TEST(SweepValues, CountsAFailedRunAsTheCap) {
  // {5, 4, 5} at a cap of 5: the means are 3, 3 and 4; without seed 0 the lowest is 4, else 1.
  const auto best = sweep_values(Sweep::best, kRates, {{1, 2, 3}, {kDiverged, 4, 6}}, 5);
  EXPECT_NEAR(best[0], 1.5, 1e-12);
  EXPECT_NEAR(best[1], 4.5, 1e-12);
  // (3 + 4) / 2 and (4 + 5) / 2 over log 2 each, less 3
  EXPECT_NEAR(sweep_values(Sweep::sensitivity, kRates, {{3, 4, kDiverged}}, 5)[0], 1, 1e-12);
  EXPECT_NEAR(sweep_values(Sweep::sensitivity, kRates, {{3, 4, 17}}, 5)[0], 1, 1e-12);
}

TEST(SweepValues, WeighsUnevenStepsByTheirLogarithm) {
  // trapezoids 1.5 over log 2 and 2.5 over log 8, less 1
  EXPECT_NEAR(sweep_values(Sweep::sensitivity, {1, 2, 16}, {{1, 2, 3}}, 9)[0],
              (1.5 * 1 + 2.5 * 3) / 4 - 1, 1e-12);
}

TEST(SweepValues, TakesTheLargestValueBelowTheFirstFailure) {
  const auto found = sweep_values(Sweep::max_trainable, kRates,
                                  {{1, 1, 1}, {1, kDiverged, 1}, {kDiverged, 1, 1}}, 0);
  EXPECT_EQ(found, (std::vector<double>{2, 0, -1}));
}

TEST(SweepValues, AreUnknownForASeedWithAMissingRun) {
  const double missing = std::nan("");
  for (const auto sweep : {Sweep::best, Sweep::sensitivity, Sweep::max_trainable}) {
    const auto found = sweep_values(sweep, kRates, {{1, missing, 1}, {1, 2, 3}, {1, 2, 3}}, 9);
    EXPECT_TRUE(std::isnan(found[0]));
    EXPECT_TRUE(std::isfinite(found[1]));
  }
}

/// Two schemes at three rates, with the losses of three seeds.
Results rates(Sweep sweep) {
  Results results;
  results.study.axes = {axis("scheme", {"hybrid", "pre"}), axis("schedule.peak", {"1", "2", "4"})};
  results.study.seeds = {1, 2, 3};
  const double x = kFailed;
  const std::vector<std::vector<double>> hybrid{{3, 3.1, 2.9}, {2.0, 2.1, 1.9}, {2.5, 2.6, 2.41}};
  const std::vector<std::vector<double>> pre{{3, 3.1, 2.9}, {2.0, 2.11, 1.9}, {x, x, x}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto rate = results.study.axes[1].values[i].label;
    results.arms.push_back(arm({{"scheme", "hybrid"}, {"schedule.peak", rate}}, hybrid[i]));
    results.arms.push_back(arm({{"scheme", "pre"}, {"schedule.peak", rate}}, pre[i]));
  }
  Claim claim{.says = "less sensitive", .of = {{"scheme", "hybrid"}}, .than = {{"scheme", "pre"}}};
  claim.measure = {.kind = Measure::Kind::sweep, .axis = "schedule.peak", .sweep = sweep, .cap = 4};
  results.study.claims = {claim};
  return results;
}

TEST(SweptArms, AreComparedSeedBySeed) {
  auto results = rates(Sweep::sensitivity);
  analyze_claims(results);
  ASSERT_EQ(results.verdicts.size(), 1U);
  const auto& verdict = results.verdicts[0];
  EXPECT_EQ(verdict.arm, "hybrid");
  EXPECT_EQ(verdict.reference, "pre");
  EXPECT_EQ(verdict.where, "");
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::supported);
  // A failure at the largest rate counts 4 instead of 2.5, for half of the upper step.
  EXPECT_NEAR(verdict.difference->mean, -1.5 / 4, 0.01);
}

TEST(SweptArms, AreComparedWithTheBaseline) {
  auto results = rates(Sweep::best);
  results.study.comparison = results.study.claims[0].measure;
  results.study.baseline = {{"scheme", "pre"}};
  results.study.claims.clear();
  analyze_claims(results);
  ASSERT_EQ(results.baseline_verdicts.size(), 1U);
  EXPECT_EQ(results.baseline_verdicts[0].arm, "hybrid");
  EXPECT_EQ(results.baseline_verdicts[0].reference, "pre");
  EXPECT_EQ(compared_arms(results).size(), 2U);
  EXPECT_EQ(ranking(results), (std::vector<std::size_t>{0, 1}));  // 2.00 and 2.0033
  const auto summary = sweep_summary(results, compared_arms(results)[0]);
  EXPECT_EQ(summary.best, "2");
  EXPECT_FALSE(summary.is_at_edge);
  EXPECT_EQ(summary.sensitivities.size(), 3U);
  auto untrained = results;
  for (auto& each : untrained.arms) {
    if (each.labels.at("scheme") == "hybrid")
      each.seed_runs = {seed_run(1, 9), seed_run(2, 9), seed_run(3, 9)};
  }
  analyze_claims(untrained);
  EXPECT_EQ(sweep_summary(untrained, compared_arms(untrained)[0]).best, "");  // all at the cap
  EXPECT_EQ(run_count(all_runs_of(results, compared_arms(results)[1]), SeedRun::State::failed), 3);
}

// Whole doublings are far from normal: three seeds that agree have p 0.25, also if one differs
// more.
TEST(SweptArms, OfLargestValuesAreTestedBySignFlips) {
  auto results = rates(Sweep::max_trainable);
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).difference->mean, 1);
  EXPECT_DOUBLE_EQ(results.verdicts.at(0).p, 0.25);
  for (auto& each : results.arms) {
    const bool fails = each.labels.at("scheme") == "pre" && each.labels.at("schedule.peak") == "2";
    if (fails) each.seed_runs[0] = seed_run(1, kFailed);
  }
  analyze_claims(results);
  EXPECT_NEAR(results.verdicts.at(0).difference->mean, 4.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(results.verdicts.at(0).p, 0.25);
  EXPECT_EQ(undecidable_claims(results.study).at(0),
            "claim 1 cannot be decided with 3 seeds: a sign-flip test among 1 hypothesis needs 6 "
            "that all agree");
}

TEST(SweptArms, OfAnotherCapAreAHypothesisOfTheirOwn) {
  auto results = rates(Sweep::sensitivity);
  results.study.claims.push_back(results.study.claims[0]);
  results.study.claims[1].measure.cap = 2.2;  // so low that the failure counts little
  analyze_claims(results);
  ASSERT_EQ(results.verdicts.size(), 2U);
  EXPECT_GT(results.verdicts[0].difference->p, 0);
  EXPECT_NE(results.verdicts[0].difference->p, results.verdicts[1].difference->p);
  EXPECT_NE(results.verdicts[0].p, results.verdicts[1].p);
}

TEST(SweptArms, HaveFurtherValuesForTheBestOnly) {
  auto results = rates(Sweep::best);
  results.study.refine = {.axis = "schedule.peak", .cap = 4};
  results.further_arms = {arm({{"scheme", "hybrid"}, {"schedule.peak", "1.41"}}, {1.5, 1.6, 1.4})};
  const auto mean = [&](Sweep sweep) {
    auto measure = results.study.claims[0].measure;
    measure.sweep = sweep;
    const auto found = swept_arms(results, measure);
    EXPECT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "hybrid");
    return mean_value(found[0]);
  };
  EXPECT_NEAR(mean(Sweep::best), 1.5, 1e-12);
  const auto sensitivity = mean(Sweep::sensitivity);
  const auto largest = mean(Sweep::max_trainable);
  results.study.comparison = results.study.claims[0].measure;
  results.study.baseline = {{"scheme", "pre"}};
  analyze_claims(results);
  const auto summary = sweep_summary(results, compared_arms(results)[0]);
  EXPECT_EQ(summary.best, "1.41");
  EXPECT_NEAR(mean_estimate(summary.sensitivities).mean, sensitivity, 1e-12);
  EXPECT_EQ(run_count(all_runs_of(results, compared_arms(results)[0]), SeedRun::State::finished),
            12);
  results.further_arms.clear();
  EXPECT_NEAR(mean(Sweep::best), 2.0, 1e-12);
  EXPECT_EQ(mean(Sweep::sensitivity), sensitivity);
  EXPECT_EQ(mean(Sweep::max_trainable), largest);
}

// A model that sees later tokens has another task.
TEST(SweptArms, AreNotComparedAcrossCausality) {
  auto results = rates(Sweep::best);
  results.study.comparison = results.study.claims[0].measure;
  results.study.baseline = {{"scheme", "pre"}};
  for (auto& each : results.arms) each.is_causal = each.labels.at("scheme") == "pre";
  analyze_claims(results);
  EXPECT_TRUE(results.baseline_verdicts.empty());
  EXPECT_EQ(ranking(results), (std::vector<std::size_t>{1, 0}));
  results.study.comparison = {};
  results.study.measure = {.kind = Measure::Kind::probe, .probe = "grad_norm"};
  analyze_claims(results);
  EXPECT_EQ(results.baseline_verdicts.size(), 3U);  // gradients are compared, at each rate
}

TEST(SweptArms, WaitForAllRuns) {
  for (const auto sweep : {Sweep::best, Sweep::sensitivity}) {
    auto results = rates(sweep);
    results.arms[0].seed_runs[1].state = SeedRun::State::missing;
    analyze_claims(results);
    EXPECT_EQ(results.verdicts.at(0).outcome, Verdict::Outcome::not_tested);
  }
}

}  // namespace
}  // namespace evenkeel::study
