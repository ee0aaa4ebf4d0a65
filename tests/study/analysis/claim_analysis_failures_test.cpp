// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "evenkeel/study/analysis/sign_flip.h"
#include "evenkeel/study/analysis/statistics.h"
#include "study/claim_fixture.h"

// Runs that fail, or are not there, and how far an arm trains.
namespace evenkeel::study {
namespace {

using Outcome = Verdict::Outcome;

TEST(ClaimAnalysis, FourSeedsDetectThatOneArmAlwaysFails) {
  const auto four =
      first_verdict(two_arms({1.0, 1.1, 1.2, 1.3}, {kFailed, kFailed, kFailed, kFailed}));
  EXPECT_EQ(four.outcome, Outcome::supported);  // Fisher: 2 / 70
  EXPECT_NEAR(four.p, 2.0 / 70, 1e-12);
  const auto ours =
      first_verdict(two_arms({kFailed, kFailed, kFailed, kFailed}, {1.0, 1.1, 1.2, 1.3}));
  EXPECT_EQ(ours.outcome, Outcome::contradicted);
  const auto three = first_verdict(two_arms({1.0, 1.1, 1.2}, {kFailed, kFailed, kFailed}));
  EXPECT_EQ(three.outcome, Outcome::inconclusive);
}

TEST(ClaimAnalysis, ALowerMeanDoesNotHideThatMoreRunsFailed) {
  const double x = kFailed;
  const std::vector<double> reference{1.10, 1.20, 1.30, 1.40, 1.50, 1.60, 1.70, 1.80};
  const auto four = first_verdict(two_arms({1.00, 1.11, 1.19, 1.3, x, x, x, x}, reference));
  EXPECT_EQ(four.outcome, Outcome::inconclusive);  // Fisher: 0.077, the difference: 0.0007
  EXPECT_LT(four.p, 0.01);
  EXPECT_FALSE(four.is_failure_test);
  const auto one = first_verdict(two_arms({1.00, 1.11, 1.19, 1.3, 1.41, 1.49, 1.6, x}, reference));
  EXPECT_EQ(one.outcome, Outcome::supported);
}

// Six of eight runs fail: Fisher's p is 0.007. It has a quarter of the error rate, because the
// losses of the two finished pairs are a second test.
TEST(ClaimAnalysis, FailuresDecideEvenIfSomeRunsFinish) {
  const double x = kFailed;
  const auto verdict =
      first_verdict(two_arms({x, x, x, 1.0, x, x, 0.9, x}, {1, 1.1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(verdict.outcome, Outcome::contradicted);
  EXPECT_NEAR(verdict.p, 4 * fisher_exact_p(6, 8, 0, 8), 1e-12);
  EXPECT_TRUE(verdict.is_failure_test);
}

// Whatever those say that finished.
TEST(ClaimAnalysis, AnArmThatFailsMoreOftenIsNotEquivalent) {
  const double x = kFailed;
  auto results = two_arms({1.000, 1.101, 1.199, x, x, x, x, x},
                          {1.001, 1.100, 1.200, 1.3, 1.3, 1.3, 1.3, 1.3});
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.01;
  auto verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.p, 1);
  EXPECT_NEAR(verdict.p_nonequivalence, 8 * fisher_exact_p(5, 8, 0, 8),
              1e-12);  // a quarter of the rate, of two hypotheses
  results.arms[0] = two_arms({x, x, x, x, x, x, x, x}, {}).arms[0];
  verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::contradicted);
  EXPECT_NEAR(verdict.p_nonequivalence, 2 * fisher_exact_p(8, 8, 0, 8), 1e-12);
}

TEST(ClaimAnalysis, ArmsThatFailAtTheTaskAreNotTestedForEquality) {
  auto results = two_arms({0.90, 0.92, 0.91}, {0.91, 0.90, 0.93});
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.1;
  EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
  results.study.claims[0].competence = 0.5;
  const auto verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::not_tested);
  EXPECT_EQ(verdict.not_tested->kind, NotTested::Kind::incompetent);
  results.study.claims[0].competence = 0.95;
  EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
}

TEST(ClaimAnalysis, OneArmThatFailsAtTheTaskIsEnoughForNoTestOfEquality) {
  for (const bool is_swapped : {false, true}) {
    const std::vector<double> good{0.48, 0.47, 0.49}, bad{0.52, 0.54, 0.53};
    auto results = is_swapped ? two_arms(bad, good) : two_arms(good, bad);
    results.study.claims[0].kind = Claim::Kind::equivalent;
    results.study.claims[0].margin = 0.2;
    EXPECT_EQ(first_verdict(results).outcome, Outcome::supported);
    results.study.claims[0].competence = 0.5;  // between the means 0.48 and 0.53
    const auto verdict = first_verdict(results);
    EXPECT_EQ(verdict.outcome, Outcome::not_tested);
    ASSERT_TRUE(verdict.not_tested);
    EXPECT_EQ(verdict.not_tested->kind, NotTested::Kind::incompetent);
  }
}

TEST(ClaimAnalysis, ALaterFailureDoesNotEraseAMeasure) {
  auto results = two_arms({1, kFailed, 1}, {kFailed, kFailed, 1});
  auto& measure = results.study.claims[0].measure;
  measure = {.kind = Measure::Kind::probe, .probe = "grad_norm", .step = 100};
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) {
      const double noise = 0.01 * static_cast<double>(seed_run.seed * seed_run.seed);
      seed_run.recorded[measure.name()] = (arm.name == "pre" ? 0.5 : 0.2) + noise;
    }
  }
  results.arms[0].seed_runs[0].recorded[measure.name()] += 0.01;
  const auto verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Verdict::Outcome::supported);
  ASSERT_TRUE(verdict.difference);
  EXPECT_EQ(verdict.difference->pairs, 3);
  EXPECT_FALSE(verdict.is_failure_test);
  EXPECT_EQ(verdict.p, verdict.difference->p);
  measure.step = 0;  // the last probe, which a failed run does not reach
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) seed_run.recorded[measure.name()] = 1;
  }
  EXPECT_FALSE(first_verdict(results).difference);
}

// The search may have chosen a wrong value.
TEST(ClaimAnalysis, TestsNoArmWhoseSearchHasACrashedTrial) {
  auto results = two_arms({1.0, 1.1, 1.2, 1.3}, {2.0, 2.1, 2.2, 2.3});
  results.arms[1].has_crashed_trial = true;
  for (const auto state : {SeedRun::State::finished, SeedRun::State::missing}) {
    for (auto& run : results.arms[1].seed_runs) run.state = state;
    const auto verdict = first_verdict(results);
    EXPECT_EQ(verdict.outcome, Outcome::not_tested);
    EXPECT_EQ(verdict.p, 1);
    EXPECT_EQ(verdict.not_tested->kind, NotTested::Kind::crashed_trial);
    EXPECT_EQ(verdict.not_tested->arms, (std::vector<std::string>{"pre"}));
  }
}

// A crash, a stop: nobody knows what the missing runs would have said.
TEST(ClaimAnalysis, WaitsForAllRuns) {
  auto results = two_arms({1.00, 1.11, 1.19, 1.25}, {1.10, 1.20, 1.30, 1.35});
  ASSERT_EQ(first_verdict(results).outcome, Outcome::supported);
  results.study.baseline = {{"scheme", "pre"}};
  for (const auto state : {SeedRun::State::missing, SeedRun::State::crashed}) {
    results.arms[0].seed_runs[3].state = state;
    analyze_claims(results);
    for (const auto& verdict : {results.verdicts.at(0), results.baseline_verdicts.at(0)}) {
      EXPECT_EQ(verdict.outcome, Outcome::not_tested);
      EXPECT_EQ(verdict.p, 1);
      EXPECT_EQ(verdict.not_tested.value().kind, NotTested::Kind::missing_runs);
      EXPECT_EQ(verdict.not_tested.value().arms, std::vector<std::string>{"hybrid"});
    }
  }
}

// That fewer than half of such runs fail, or more: seven seeds that all agree decide two questions.
TEST(ClaimAnalysis, TestsClaimsThatAnArmTrainsOrFails) {
  const std::vector<double> good(7, 1.0), bad(7, kFailed);
  auto results = two_arms(good, bad);
  Claim trains, fails;
  trains.kind = Claim::Kind::trains;
  trains.of = {{"scheme", "hybrid"}};
  fails.kind = Claim::Kind::fails;
  fails.of = {{"scheme", "pre"}};
  results.study.claims = {trains, fails};
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::supported);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::supported);
  EXPECT_NEAR(results.verdicts[1].p, 2 * sign_test_p(7, 0), 1e-12);
  results.arms[1].seed_runs[3] = seed_run(4, 1.0);
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::inconclusive);
  EXPECT_NEAR(results.verdicts[1].p, 0.125, 1e-12);
  EXPECT_EQ(results.verdicts[1].required_seeds, 7);
  std::swap(results.study.claims[0].of, results.study.claims[1].of);
  results.arms = two_arms(good, bad).arms;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::contradicted);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::contradicted);
}

TEST(ClaimAnalysis, FollowsAnAxisToTheFirstValueThatFails) {
  auto results = depth_study({"8", "16", "32"}, {1, 2, 3, 4, 5, 6});
  const auto add = [&](const char* scheme, const char* layers, const std::vector<double>& losses) {
    results.arms.push_back(arm({{"scheme", scheme}, {"model.layers", layers}}, losses));
  };
  const std::vector<double> good(6, 1.0), bad(6, kFailed);
  add("hybrid", "8", good);
  add("hybrid", "16", good);
  add("hybrid", "32", {1, kFailed, 1, 1, 1, 1});
  add("post", "8", good);
  add("post", "16", bad);
  add("post", "32", good);  // beyond a failure: does not count
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Outcome::supported);
  EXPECT_NEAR(results.verdicts.at(0).p, 2.0 / 64, 1e-12);
  EXPECT_EQ(results.verdicts.at(0).arm_max, (std::vector<double>{32, 16, 32, 32, 32, 32}));
  EXPECT_EQ(results.verdicts.at(0).reference_max, std::vector<double>(6, 8));
  results.arms[1] =
      arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {1, kFailed, 1, 1, 1, 1});  // a tie
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Outcome::inconclusive);
  EXPECT_NEAR(results.verdicts.at(0).p, 2.0 / 32, 1e-12);
  EXPECT_EQ(results.verdicts.at(0).required_seeds, 6);
}

TEST(ClaimAnalysis, TrainsUpToNoValueIfTheFirstAlreadyFails) {
  auto results = depth_study({"8", "16"}, {1, 2});
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "8"}}, {1, kFailed}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {kFailed, 1}),
                  arm({{"scheme", "post"}, {"model.layers", "8"}}, {kFailed, kFailed}),
                  arm({{"scheme", "post"}, {"model.layers", "16"}}, {1, 1})};
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).arm_max, (std::vector<double>{8, -INFINITY}));
  EXPECT_EQ(results.verdicts.at(0).reference_max, (std::vector<double>{-INFINITY, -INFINITY}));
}

// 6 would do for one question: 2 / 2^6 is 0.031.
TEST(ClaimAnalysis, CountsTheSeedsOfASignTestAmongOtherHypotheses) {
  EXPECT_EQ(sign_test_required_pairs(0.05), 6);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 4), 8);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 6), 8);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 7), 9);
}

// A crash is no result: the run may have trained or failed.
TEST(ClaimAnalysis, KnowsNoLargestValueWhereARunCrashed) {
  const std::vector<double> good(6, 1.0), bad(6, kFailed);
  auto results = depth_study({"8", "16", "32"}, {1, 2, 3, 4, 5, 6});
  for (const auto* const layers : {"8", "16", "32"}) {
    const bool fails = layers != std::string("8");
    results.arms.push_back(arm({{"scheme", "hybrid"}, {"model.layers", layers}}, good));
    results.arms.push_back(arm({{"scheme", "post"}, {"model.layers", layers}}, fails ? bad : good));
  }
  results.arms[5].seed_runs[2].state = SeedRun::State::crashed;  // beyond a failure: no matter
  auto verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::supported);
  EXPECT_EQ(verdict.reference_max, std::vector<double>(6, 8));
  for (const std::size_t post : {1U, 3U}) {  // at 8, at 16; as a failure: supported
    auto crashed = results;
    crashed.arms[post].seed_runs[2].state = SeedRun::State::crashed;
    verdict = first_verdict(crashed);
    EXPECT_EQ(verdict.outcome, Outcome::not_measured);
    EXPECT_EQ(verdict.p, 1);
    EXPECT_TRUE(std::isnan(verdict.reference_max.at(2)));
    EXPECT_EQ(verdict.reference_max.at(3), 8);
    EXPECT_FALSE(verdict.required_seeds.has_value());
  }
}

// Three quarters of the error rate are those of the differences, whichever test they have.
TEST(ClaimAnalysis, GivesTheSignFlipTestTheShareOfTheDifferences) {
  const double x = kFailed;
  auto results = two_arms({1.00, 1.11, 1.19, 1.3, 1.41, 1.49, 1.6, x},
                          {1.10, 1.20, 1.30, 1.40, 1.50, 1.60, 1.70, 1.80});
  results.study.baseline = {{"scheme", "pre"}};
  analyze_claims(results);
  for (const auto& verdict : {results.verdicts.at(0), results.baseline_verdicts.at(0)}) {
    ASSERT_TRUE(verdict.difference);
    EXPECT_EQ(verdict.difference->sign_flip_p, 2.0 / 128);  // seven pairs that agree
    EXPECT_NEAR(verdict.sign_flip_p, 2.0 / 128 / 0.75, 1e-12);
    EXPECT_NEAR(verdict.p, verdict.difference->p / 0.75, 1e-12);
  }
  // Two pairs, 0 and -0.1: t is 1, and every assignment of signs reaches the mean.
  const auto capped = first_verdict(two_arms({1.0, 0.9, x}, {1.0, 1.0, 1.0}));
  EXPECT_NEAR(capped.p, 0.5 / 0.75, 1e-12);
  EXPECT_EQ(capped.sign_flip_p, 1);
  // Where the failures decide, no sign is flipped.
  const auto failures =
      first_verdict(two_arms({x, x, x, 1.0, x, x, 0.9, x}, {1, 1.1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(failures.is_failure_test);
  EXPECT_NEAR(failures.sign_flip_p, 4 * fisher_exact_p(6, 8, 0, 8), 1e-12);
}

// Two nearly equal pairs: t is 2,001, and the signs say nothing, so that its p is of the failures.
TEST(ClaimAnalysis, TakesTheFailuresForTheSignFlipTestWhereTheyAreStronger) {
  const double x = kFailed;
  const auto verdict =
      first_verdict(two_arms({x, x, x, 0.9, x, x, 0.8999, x}, {1, 1, 1, 1, 1, 1, 1, 1}));
  ASSERT_TRUE(verdict.difference);
  EXPECT_FALSE(verdict.is_failure_test);
  EXPECT_NEAR(verdict.p, verdict.difference->p / 0.75, 1e-12);
  EXPECT_EQ(verdict.difference->sign_flip_p, 0.5);
  EXPECT_NEAR(verdict.sign_flip_p, 4 * fisher_exact_p(6, 8, 0, 8), 1e-12);
}

// Eight pairs agree, of which one is far off: t is 2, Fisher's p 0.016, that of the signs 2 / 256.
TEST(ClaimAnalysis, TakesTheSignsForTheSignFlipTestWhereFailuresDecideTheTTest) {
  const double x = kFailed;
  const auto verdict = first_verdict(
      two_arms({-1, -1, -1, -1, -1, -1, -1, -9, x, x, x, x, x, x}, std::vector<double>(14, 0.0)));
  EXPECT_TRUE(verdict.is_failure_test);
  EXPECT_NEAR(verdict.p, 4 * fisher_exact_p(6, 14, 0, 14), 1e-12);
  EXPECT_NEAR(verdict.sign_flip_p, 2.0 / 256 / 0.75, 1e-12);
}

// With 40 pairs that are nearly equal, p of the t-test is below the smallest double.
TEST(ClaimAnalysis, HasASignFlipTestWherePOfTheTTestIsZero) {
  std::vector<double> ours(40, 1.0);
  ours[7] -= 1e-10;
  const auto verdict = first_verdict(two_arms(ours, std::vector<double>(40, 2.0)));
  ASSERT_TRUE(verdict.difference);
  EXPECT_GT(verdict.difference->standard_deviation, 0);
  EXPECT_EQ(verdict.p, 0);
  EXPECT_EQ(verdict.sign_flip_p, std::ldexp(1.0, -39));  // all agree
}

// Differences of 0 have every assignment of signs; equal ones only theirs and its opposite.
TEST(ClaimAnalysis, HasTheSignFlipTestOfEqualDifferences) {
  const auto none = first_verdict(two_arms({1, 2, 3}, {1, 2, 3}));
  EXPECT_EQ(none.p, 1);
  EXPECT_EQ(none.sign_flip_p, 1);
  EXPECT_EQ(none.outcome, Outcome::inconclusive);
  const auto equal = first_verdict(two_arms({1, 2, 3}, {2, 3, 4}));
  EXPECT_EQ(equal.p, 0.25);
  EXPECT_EQ(equal.sign_flip_p, 0.25);
  EXPECT_EQ(equal.outcome, Outcome::inconclusive);
}

}  // namespace
}  // namespace evenkeel::study
