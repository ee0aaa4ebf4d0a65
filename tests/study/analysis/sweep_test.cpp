// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/sweep.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "evenkeel/base/philox.h"
#include "evenkeel/study/analysis/ranking.h"
#include "evenkeel/study/analysis/swap_test.h"
#include "evenkeel/study/report/sweep_columns.h"
#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

using Sweep = Measure::Sweep;

constexpr double kDiverged = std::numeric_limits<double>::infinity();
const std::vector<double> kRates{1, 2, 4};

TEST(SweepValues, TakesTheBestValueOfTheOtherSeeds) {
  // Seeds 0 and 2 like x = 1 best, seeds 1 and 3 x = 2: each is scored at the other's choice.
  const auto found =
      sweep_values(Sweep::best, kRates, {{1, 2, 3}, {5, 4, 6}, {1, 2, 3}, {5, 4, 6}}, 9);
  EXPECT_EQ(found, (std::vector<double>{2, 5, 2, 5}));
  EXPECT_TRUE(std::isnan(sweep_values(Sweep::best, kRates, {{1, 2, 3}}, 9)[0]));
}

TEST(SweepValues, CountsAFailedRunAsTheCap) {
  EXPECT_EQ(sweep_values(Sweep::best, kRates, {{1, 2, 3}, {kDiverged, 4, 6}}, 5),
            (std::vector<double>{2, 5}));
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

TEST(SweepValues, IsUnknownWhereARunIsMissing) {
  const double missing = std::nan("");
  for (const auto sweep : {Sweep::best, Sweep::sensitivity, Sweep::max_trainable}) {
    EXPECT_TRUE(std::isnan(sweep_values(sweep, kRates, {{1, missing, 1}, {1, 1, 1}}, 9)[0]));
  }
}

TEST(SwapTest, IsTheShareOfSwapsWithAsLargeADifference) {
  // Only without a swap is the difference as large.
  const std::vector<std::vector<double>> low(6, {1, 2, 3}), high(6, {2, 3, 4});
  const auto found = swap_test(low, high);
  EXPECT_EQ(found.pairs, 6);
  EXPECT_EQ(found.mean, -1);
  EXPECT_EQ(found.p, 1.0 / 32);
  EXPECT_LT(found.interval.high, 0);
  const auto three = swap_test({low.begin(), low.begin() + 3}, {high.begin(), high.begin() + 3});
  EXPECT_EQ(three.p, 0.25);
  EXPECT_EQ(swap_test(low, low).p, 1);
}

/// Losses of eight seeds at three rates, whose best rates nearly tie.
std::vector<std::vector<double>> noisy_losses(std::uint64_t study) {
  const Philox random(study, "tests/sweep");
  std::vector<std::vector<double>> out(8, std::vector<double>(3));
  for (std::size_t seed = 0; seed < out.size(); ++seed) {
    for (std::size_t i = 0; i < 3; ++i) {
      out[seed][i] = 1 + 0.01 * random.normal(8 * i + seed);
    }
  }
  return out;
}

// The interval has the shifts that the test does not reject.
TEST(SwapTest, HasAnIntervalThatAgreesWithItsP) {
  int excluded = 0;
  for (std::uint64_t study = 0; study < 100; ++study) {
    auto arm = noisy_losses(2 * study);
    const auto reference = noisy_losses(2 * study + 1);
    for (auto& row : arm) {
      for (auto& loss : row) loss += 0.008;
    }
    const auto found = swap_test(arm, reference);
    const bool excludes_zero = found.interval.low > 0 || found.interval.high < 0;
    EXPECT_EQ(excludes_zero, found.p < 0.05) << study;
    EXPECT_LE(found.interval.low, found.mean);
    EXPECT_GE(found.interval.high, found.mean);
    excluded += excludes_zero ? 1 : 0;
    for (auto& row : arm) {
      for (auto& loss : row) loss += 0.3;  // a large difference has as narrow an interval
    }
    const auto larger = swap_test(arm, reference);
    EXPECT_NEAR(larger.interval.low, found.interval.low + 0.3, 1e-4) << study;
    EXPECT_NEAR(larger.interval.high, found.interval.high + 0.3, 1e-4) << study;
  }
  EXPECT_GT(excluded, 10);
  EXPECT_LT(excluded, 90);
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
  auto results = rates(Sweep::best);
  results.arms[0].seed_runs[1].state = SeedRun::State::missing;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Verdict::Outcome::not_measured);  // no seed has both
  results = rates(Sweep::sensitivity);
  results.arms[0].seed_runs[1].state = SeedRun::State::missing;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Verdict::Outcome::not_tested);
}

}  // namespace
}  // namespace evenkeel::study
