// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/analysis/claim_analysis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/base/cpu_contention.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/report/figures.h"
#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

using Outcome = Verdict::Outcome;

TEST(ClaimAnalysis, SupportsADifferenceThatEverySeedShows) {
  const auto verdict = first_verdict(two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30}));
  EXPECT_EQ(verdict.outcome, Outcome::supported);
  ASSERT_TRUE(verdict.difference.has_value());
  EXPECT_NEAR(verdict.difference->mean, -0.1, 1e-12);
}

TEST(ClaimAnalysis, ContradictsAClaimOfTheOtherSign) {
  EXPECT_EQ(first_verdict(two_arms({1.10, 1.20, 1.30}, {1.00, 1.11, 1.19})).outcome,
            Outcome::contradicted);
}

TEST(ClaimAnalysis, PairsRunsBySeedNotByRank) {
  // The same values in another order: no difference in the mean, but a wide spread of pairs.
  const auto verdict = first_verdict(two_arms({1.0, 2.0, 3.0}, {2.0, 3.0, 1.0}));
  EXPECT_NEAR(verdict.difference->mean, 0, 1e-12);
  EXPECT_GT(verdict.difference->standard_deviation, 1);
}

TEST(ClaimAnalysis, TestsAClaimAtEveryValueOfTheOtherAxes) {
  auto results = two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  results.study.axes.push_back(axis("model.layers", {"2", "4"}));
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "2"}}, {1.00, 1.11, 1.19}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "4"}}, {1.10, 1.20, 1.30}),
                  arm({{"scheme", "pre"}, {"model.layers", "2"}}, {1.10, 1.20, 1.30}),
                  arm({{"scheme", "pre"}, {"model.layers", "4"}}, {1.00, 1.11, 1.19})};
  analyze_claims(results);
  ASSERT_EQ(results.verdicts.size(), 2U);
  EXPECT_EQ(results.verdicts[0].where, "layers 2");
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::supported);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::contradicted);
  results.study.claims[0].at = {{"model.layers", "4"}};
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.size(), 1U);
}

TEST(ClaimAnalysis, CorrectsForAllHypothesesAndCountsEachOnce) {
  auto results = two_arms({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  analyze_claims(results);
  const double uncorrected = results.verdicts[0].p;
  auto mirrored = results.study.claims[0];
  std::swap(mirrored.of, mirrored.than);
  results.study.claims.push_back(mirrored);
  results.study.baseline = {{"scheme", "pre"}};
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].p, uncorrected);  // the same question, three times
  EXPECT_EQ(results.verdicts[1].p, uncorrected);
  EXPECT_EQ(results.baseline_verdicts[0].p, uncorrected);
  results.study.claims[1].measure.kind = Measure::Kind::loss;
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) seed_run.run.loss.add(1, seed_run.value);
  }
  analyze_claims(results);
  EXPECT_NEAR(results.verdicts[0].p, 2 * uncorrected, 1e-12);
}

// Comparisons that nobody claims anything of do not make claims harder to decide.
TEST(ClaimAnalysis, CorrectsExploratoryComparisonsSeparately) {
  auto results = two_arms({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  analyze_claims(results);
  const double uncorrected = results.verdicts[0].p;
  results.study.axes[0].values.push_back({"post", {"scheme=post"}});
  results.study.axes[0].values.push_back({"mix", {"scheme=mix"}});
  results.study.baseline = {{"scheme", "pre"}};
  results.arms.push_back(arm({{"scheme", "post"}}, {1.00, 1.13, 1.17}));
  results.arms.push_back(arm({{"scheme", "mix"}}, {1.10, 1.24, 1.29}));
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].p, uncorrected);
  EXPECT_EQ(results.baseline_verdicts[0].p, uncorrected);  // the claim's question
  EXPECT_NEAR(results.baseline_verdicts[1].p, 2 * uncorrected, 1e-12);
}

// What was decided before the last run is there would else be taken back by it.
TEST(ClaimAnalysis, CountsHypothesesThatAreNotMeasuredYet) {
  auto results = two_arms({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  const double uncorrected = first_verdict(results).p;
  results.study.axes[0].values.push_back({"post", {"scheme=post"}});
  results.arms.push_back(arm({{"scheme", "post"}}, {1.10, 1.24, 1.29}));
  results.study.claims.push_back(results.study.claims[0]);
  results.study.claims[1].than = {{"scheme", "post"}};
  results.arms[2].seed_runs[1].state = SeedRun::State::missing;
  analyze_claims(results);
  EXPECT_NEAR(results.verdicts[0].p, 2 * uncorrected, 1e-12);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::not_tested);
}

// R: p.adjust(c(...), "BH") of the uncorrected p-values.
TEST(ClaimAnalysis, ControlsFalseDiscoveriesWhereTheStudySaysSo) {
  auto results = two_arms({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  results.study.claims.clear();
  results.study.baseline = {{"scheme", "pre"}};
  for (const char* name : {"post", "mix"}) {
    results.study.axes[0].values.push_back({name, {std::string("scheme=") + name}});
  }
  results.arms.push_back(arm({{"scheme", "post"}}, {1.00, 1.11, 1.19}));
  results.arms.push_back(arm({{"scheme", "mix"}}, {1.10, 1.24, 1.29}));
  analyze_claims(results);
  std::vector<double> raw;
  for (const auto& verdict : results.baseline_verdicts) raw.push_back(verdict.difference->p);
  EXPECT_FALSE(results.baseline_verdicts[0].shrunken.has_value());
  results.study.controls_false_discoveries = true;
  analyze_claims(results);
  const auto corrected = benjamini_hochberg(raw);
  ASSERT_EQ(results.baseline_verdicts.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& verdict = results.baseline_verdicts[i];
    EXPECT_DOUBLE_EQ(verdict.p, corrected[i]);
    ASSERT_TRUE(verdict.shrunken.has_value());
    EXPECT_LE(*verdict.shrunken, 0.01);
  }
}

TEST(ClaimAnalysis, ComparesEveryArmWithTheBaseline) {
  auto results = two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  results.study.claims.clear();
  results.study.baseline = {{"scheme", "pre"}};
  analyze_claims(results);
  ASSERT_EQ(results.baseline_verdicts.size(), 1U);
  EXPECT_EQ(results.baseline_verdicts[0].arm, "hybrid");
  EXPECT_EQ(results.baseline_verdicts[0].outcome, Outcome::supported);
}

TEST(ClaimAnalysis, EquivalenceNeedsTheWholeIntervalWithinTheMargin) {
  auto results = two_arms({1.000, 1.101, 1.199}, {1.001, 1.100, 1.200});
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.01;
  EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
  results.study.claims[0].margin = 0.0005;
  EXPECT_EQ(first_verdict(results).outcome, Outcome::inconclusive);
  auto apart = two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  apart.study.claims[0].kind = Claim::Kind::equivalent;
  apart.study.claims[0].margin = 0.01;
  EXPECT_EQ(first_verdict(apart).outcome, Outcome::contradicted);
}

// p of an equivalence is of TOST. It stays in the family of the other claim, which has three.
TEST(ClaimAnalysis, HasNoSignFlipTestOfAnEquivalence) {
  auto results = two_arms({1.00, 1.11, 1.19, 1.31}, {1.10, 1.20, 1.30, 1.40});
  results.study.claims.push_back(results.study.claims[0]);
  results.study.claims[1].kind = Claim::Kind::equivalent;
  results.study.claims[1].margin = 0.01;
  analyze_claims(results);
  const auto& lower = results.verdicts.at(0);
  const auto& equivalent = results.verdicts.at(1);
  ASSERT_TRUE(lower.difference && equivalent.difference);
  EXPECT_EQ(equivalent.outcome, Outcome::contradicted);
  EXPECT_TRUE(std::isnan(equivalent.sign_flip_p));
  EXPECT_EQ(lower.difference->sign_flip_p, 0.125);  // four pairs that agree
  EXPECT_EQ(lower.sign_flip_p, 0.25);  // after the smallest p, that of "beyond the margin"
}

// As where no answer is right: tests of equivalence go by how differences scatter.
TEST(ClaimAnalysis, DoesNotCallEqualConstantsAProvenEquivalence) {
  auto results = two_arms({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.05;
  const auto verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::not_tested);
  EXPECT_EQ(verdict.p, 1);
  EXPECT_EQ(verdict.not_tested.value().kind, NotTested::Kind::zero_variance);
  results.arms = two_arms({1, 1, 1}, {1.01, 1.01, 1.01}).arms;
  EXPECT_EQ(first_verdict(results).outcome, Outcome::not_tested);
  results.arms = two_arms({1.0, 1.1, 1.2}, {1.0, 1.1, 1.2}).arms;  // the same bits, seed by seed
  EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
}

// The rule of `bench`: timings are void where others took more than a tenth of the machine.
TEST(ClaimAnalysis, DoesNotTestTimesOfABusyMachine) {
  auto results = two_arms({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].measure.kind = results.study.measure.kind = Measure::Kind::step_time;
  results.study.baseline = {{"scheme", "pre"}};
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) {
      const double seed = static_cast<double>(seed_run.seed);
      seed_run.run.step_seconds.add(1, arm.name == "pre" ? 0.02 : 0.010 + 1e-5 * seed);
      seed_run.run.cpu_contention = CpuContention::kMaxShare;
    }
  }
  EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
  results.arms[1].seed_runs[2].run.cpu_contention = 0.34;
  analyze_claims(results);
  for (const auto& verdict : {results.verdicts.at(0), results.baseline_verdicts.at(0)}) {
    EXPECT_EQ(verdict.outcome, Outcome::not_tested);
    EXPECT_EQ(verdict.p, 1);
    const auto reason = verdict.not_tested.value();
    EXPECT_EQ(reason.kind, NotTested::Kind::cpu_contention);
    EXPECT_EQ(reason.contended, 1);
    EXPECT_EQ(reason.total, 6);
    EXPECT_EQ(reason.max_share, 0.34);
  }
  results.study.claims[0].measure.kind = Measure::Kind::val_loss;  // which no load changes
  EXPECT_EQ(first_verdict(results).outcome, Outcome::inconclusive);
}

TEST(ClaimAnalysis, DoesNotMeasureWhatFinishedRunsLack) {
  auto results = two_arms({1.0, 1.1, 1.2}, {1.0, 1.1, 1.2});
  results.study.claims[0].measure = {.kind = Measure::Kind::probe, .probe = "grad_norm"};
  EXPECT_EQ(first_verdict(results).outcome, Outcome::not_measured);
}

TEST(ClaimAnalysis, FitsAPowerLawThroughTheMeansOfAScheme) {
  Results results;
  results.study.axes = {axis("scheme", {"pre"}), axis("size", {"small", "middle", "large"})};
  results.study.seeds = {1};
  results.study.power_law = "parameters";
  for (const std::int64_t size : {100, 1000, 10000}) {
    results.arms.push_back(
        arm({{"scheme", "pre"}}, {5 * std::pow(static_cast<double>(size), -0.1)}));
    results.arms.back().parameters = size;
  }
  analyze_claims(results);
  ASSERT_EQ(results.fits.size(), 1U);
  EXPECT_NEAR(results.fits[0].law.exponent, 0.1, 1e-9);
  // The largest size is above the law of the two smaller ones.
  results.arms[2] = arm({{"scheme", "pre"}}, {3});
  results.arms[2].parameters = 10000;
  analyze_claims(results);
  EXPECT_NEAR(results.fits[0].predicted.value().by_smaller, 5 * std::pow(10000, -0.1), 1e-9);
  EXPECT_NE(power_law_text(results.fits[0])
                .find("the smaller sizes predict 1.991 at the largest, "
                      "which has 3"),
            std::string::npos)
      << power_law_text(results.fits[0]);
  results.arms.pop_back();
  analyze_claims(results);
  EXPECT_FALSE(results.fits[0].predicted.has_value());
}

// The numbers are those of scipy in PowerLaw.PredictsTheMeanOfNewValuesWithAnInterval.
TEST(ClaimAnalysis, PredictsTheLargestSizeWithAnIntervalFromThreeSmallerSizes) {
  Results results;
  results.study.axes = {axis("scheme", {"pre"}), axis("size", {"a", "b", "c", "d", "e"})};
  results.study.seeds = {1};
  results.study.power_law = "parameters";
  std::int64_t size = 100;
  for (const double loss : {4.1, 3.5, 3.05, 2.6, 2.31}) {
    results.arms.push_back(arm({{"scheme", "pre"}}, {loss}));
    results.arms.back().parameters = size;
    size *= 2;
  }
  analyze_claims(results);
  const auto predicted = results.fits.at(0).predicted.value();
  EXPECT_NEAR(predicted.interval.low, 2.1417615255417797, 1e-11);
  EXPECT_NEAR(predicted.interval.high, 2.347964714013991, 1e-11);
  EXPECT_TRUE(power_law_text(results.fits[0])
                  .ends_with("; the smaller sizes predict 2.242, 95 % prediction interval [2.142, "
                             "2.348], at the largest, which has 2.31"))
      << power_law_text(results.fits[0]);
  results.arms.erase(results.arms.begin(), results.arms.begin() + 2);  // two smaller sizes
  analyze_claims(results);
  EXPECT_TRUE(std::isnan(results.fits.at(0).predicted.value().interval.low));
}

// A mean of 1.05 is competent below 2 and not below 1: the first claim is tested in either order.
TEST(ClaimAnalysis, TestsEquivalenceClaimsOfOtherCompetenceApart) {
  for (const bool is_strict_first : {false, true}) {
    auto results = two_arms({1.00, 1.05, 1.10, 1.04}, {1.001, 1.052, 1.098, 1.041});
    auto lenient = results.study.claims[0];
    lenient.kind = Claim::Kind::equivalent;
    lenient.margin = 0.1;
    lenient.competence = 2;
    auto strict = lenient;
    strict.competence = 1;
    results.study.claims = {lenient, strict};
    if (is_strict_first) std::swap(results.study.claims[0], results.study.claims[1]);
    analyze_claims(results);
    const std::size_t at = is_strict_first ? 1 : 0;
    EXPECT_EQ(results.verdicts.at(at).outcome, Outcome::supported);
    EXPECT_LT(results.verdicts.at(at).p, 0.05);
    EXPECT_EQ(results.verdicts.at(1 - at).outcome, Outcome::not_tested);
    EXPECT_EQ(results.verdicts.at(1 - at).p, 1);
  }
}

}  // namespace
}  // namespace evenkeel::study
