// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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
  EXPECT_NE(three.sentence.find("3 of 3 runs of pre failed"), std::string::npos) << three.sentence;
}

TEST(ClaimAnalysis, ALowerMeanDoesNotHideThatMoreRunsFailed) {
  const auto verdict =
      first_verdict(two_arms({1.00, 1.11, 1.19, kFailed}, {1.10, 1.20, 1.30, 1.4}));
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_NE(verdict.sentence.find("1 of 4 runs of hybrid failed"), std::string::npos);
}

// Six of eight fail: Fisher 0.007, which counts twice beside what the two that are left say.
TEST(ClaimAnalysis, FailuresDecideEvenIfSomeRunsFinish) {
  const double x = kFailed;
  const auto verdict =
      first_verdict(two_arms({x, x, x, 1.0, x, x, 0.9, x}, {1, 1.1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(verdict.outcome, Outcome::contradicted);
  EXPECT_NEAR(verdict.p, 2 * fisher_exact_p(6, 8, 0, 8), 1e-12);
  EXPECT_TRUE(verdict.sentence.ends_with(
      "(2 seeds) of those that finished; 6 of 8 runs of hybrid failed; that hybrid fails more "
      "often: p 0.014 (Fisher)"))
      << verdict.sentence;
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
  EXPECT_NEAR(verdict.p_nonequivalence, 4 * fisher_exact_p(5, 8, 0, 8),
              1e-12);  // two looks, two questions
  EXPECT_TRUE(verdict.sentence.ends_with("that hybrid fails more often: p 0.103 (Fisher)"))
      << verdict.sentence;
  results.arms[0] = two_arms({x, x, x, x, x, x, x, x}, {}).arms[0];
  verdict = first_verdict(results);
  EXPECT_EQ(verdict.outcome, Outcome::contradicted);
  EXPECT_NEAR(verdict.p_nonequivalence, 2 * fisher_exact_p(8, 8, 0, 8), 1e-12);
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
      EXPECT_NE(verdict.sentence.find("; not judged: runs of hybrid are missing"),
                std::string::npos)
          << verdict.sentence;
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
  EXPECT_NE(results.verdicts[1].sentence.find("6 of 7 runs of pre failed"), std::string::npos);
  EXPECT_TRUE(results.verdicts[1].sentence.ends_with("p 0.125, 7 seeds that all agree would tell"))
      << results.verdicts[1].sentence;
  std::swap(results.study.claims[0].of, results.study.claims[1].of);
  results.arms = two_arms(good, bad).arms;
  analyze_claims(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::contradicted);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::contradicted);
}

// It looks for what trains, so that "trains" is no surprise afterwards.
TEST(ClaimAnalysis, NamesTheSearchInAClaimThatAnArmTrains) {
  auto results = two_arms({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].kind = Claim::Kind::trains;
  results.study.claims[0].than.clear();
  EXPECT_EQ(first_verdict(results).sentence.find("search"), std::string::npos);
  results.study.tune = SearchConfig{.key = "schedule.peak"};
  EXPECT_TRUE(first_verdict(results).sentence.ends_with(
      "; each arm with the schedule.peak at which a search found its lowest loss"));
}

/// That hybrid trains at greater depth than post; without runs.
Results depth_study(const std::vector<std::string>& layers,
                    const std::vector<std::int64_t>& seeds) {
  Results results;
  results.study.axes = {axis("scheme", {"hybrid", "post"}), axis("model.layers", layers)};
  results.study.seeds = seeds;
  Claim claim;
  claim.kind = Claim::Kind::further;
  claim.of = {{"scheme", "hybrid"}};
  claim.than = {{"scheme", "post"}};
  claim.along = "model.layers";
  results.study.claims = {claim};
  return results;
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
  EXPECT_EQ(results.verdicts.at(0).sentence,
            "hybrid trains up to model.layers 32, 16, 32, 32, 32, 32 (seed by seed), post up to 8, "
            "8, 8, 8, 8, 8; sign test over the seeds: p 0.031");
  results.arms[1] =
      arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {1, kFailed, 1, 1, 1, 1});  // a tie
  analyze_claims(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Outcome::inconclusive);
  EXPECT_TRUE(
      results.verdicts.at(0).sentence.ends_with("p 0.062, 6 seeds that all agree would tell"))
      << results.verdicts.at(0).sentence;
}

TEST(ClaimAnalysis, SaysNoneWhereTheFirstValueAlreadyFails) {
  auto results = depth_study({"8", "16"}, {1, 2});
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "8"}}, {1, kFailed}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {kFailed, 1}),
                  arm({{"scheme", "post"}, {"model.layers", "8"}}, {kFailed, kFailed}),
                  arm({{"scheme", "post"}, {"model.layers", "16"}}, {1, 1})};
  analyze_claims(results);
  EXPECT_TRUE(results.verdicts.at(0).sentence.starts_with(
      "hybrid trains up to model.layers 8, none (seed by seed), post up to none, none; sign test"))
      << results.verdicts.at(0).sentence;
}

// 6 would do for one question: 2 / 2^6 is 0.031.
TEST(ClaimAnalysis, CountsTheSeedsOfASignTestAmongOtherHypotheses) {
  EXPECT_EQ(sign_test_required_pairs(0.05), 6);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 4), 8);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 6), 8);
  EXPECT_EQ(sign_test_required_pairs(0.05 / 7), 9);
}

}  // namespace
}  // namespace evenkeel::study
