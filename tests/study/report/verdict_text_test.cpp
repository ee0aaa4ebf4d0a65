// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/verdict_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "study/claim_fixture.h"

namespace evenkeel::study {
namespace {

/// The sentence of the first claim, once analyzed.
std::string first_sentence(Results results) {
  analyze_claims(results);
  return sentence(results, results.verdicts.at(0));
}

bool mentions(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

/// That two arms differ by less than 0.01.
Results equivalence(const std::vector<double>& ours, const std::vector<double>& theirs) {
  auto results = two_arms(ours, theirs);
  results.study.claims[0].kind = Claim::Kind::equivalent;
  results.study.claims[0].margin = 0.01;
  return results;
}

TEST(VerdictText, NamesADifferenceWithItsInterval) {
  const auto text = first_sentence(two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30}));
  EXPECT_TRUE(text.starts_with("validation loss of hybrid is lower than of pre by 0.1 [")) << text;
}

TEST(VerdictText, SaysWhetherTheIntervalExcludesTheSmallestEffect) {
  auto results = two_arms({1.0, 1.3, 1.1}, {1.1, 1.2, 1.25});
  const auto text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "do not differ significantly with 3 seeds")) << text;
  EXPECT_TRUE(
      text.ends_with("; the interval does not exclude differences of 0.01 nats per token and more"))
      << text;
  results.study.smallest_effect = 0.4;
  EXPECT_TRUE(first_sentence(results).ends_with(
      "; the interval excludes differences of 0.4 nats per token and more"))
      << first_sentence(results);
}

// p of the difference is 0.029, times two or three by Holm; the interval is [-0.17, -0.03].
TEST(VerdictText, SaysThatAnIntervalBeyondTheSmallestEffectExcludesNoLargerOne) {
  auto results = two_arms({1.0, 1.07, 1.23}, {1.1, 1.2, 1.3});
  results.study.claims.push_back(equivalence({}, {}).study.claims[0]);
  const auto text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "do not differ significantly with 3 seeds")) << text;
  EXPECT_TRUE(
      text.ends_with("; the interval does not exclude differences of 0.01 nats per token and more"))
      << text;
}

// Seven of eight seeds agree, and one is far off: t needs normal differences, the signs do not.
TEST(VerdictText, NamesTheSignFlipTestWhereItDecidesOtherwise) {
  const std::vector<double> zeros(8, 0.0);
  const auto text = first_sentence(two_arms({-1, -1, -1, -1, -1, -1, -1, -9}, zeros));
  EXPECT_TRUE(mentions(text, "do not differ significantly with 8 seeds")) << text;
  EXPECT_TRUE(mentions(text,
                       "; with the sign-flip test in place of the t-test, p is 0.008, "
                       "significant;"))
      << text;
  EXPECT_FALSE(
      mentions(first_sentence(two_arms({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30})), "sign-flip"));
}

// t: p 0.01; four of 64 assignments of signs have a sum as large.
TEST(VerdictText, NamesTheSignFlipTestWhereOnlyTIsSignificant) {
  const std::vector<double> zeros(6, 0.0);
  const auto text = first_sentence(two_arms({-1, -1.1, -0.9, -1, -1, 0.2}, zeros));
  EXPECT_TRUE(text.starts_with("validation loss of hybrid is lower than of pre by ")) << text;
  EXPECT_TRUE(mentions(text, "; with the sign-flip test in place of the t-test, p is 0.06"))
      << text;
  EXPECT_TRUE(mentions(text, ", not significant")) << text;
}

// Six seeds that agree have the smallest p of the sign-flip test, 0.031, times two by Holm: no
// data of six seeds could confirm the claim among these.
TEST(VerdictText, LeavesOutASignFlipTestThatNoDataCouldPass) {
  auto results = two_arms({1.0, 1.1, 1.2, 1.3, 1.4, 1.5}, {1.1, 1.21, 1.3, 1.39, 1.5, 1.6});
  results.study.claims.push_back(equivalence({}, {}).study.claims[0]);
  const auto text = first_sentence(results);
  EXPECT_TRUE(text.starts_with("validation loss of hybrid is lower than of pre by ")) << text;
  EXPECT_FALSE(mentions(text, "sign-flip")) << text;
}

/// The sentence of two arms with these differences, if the correction gives the sign-flip test p
/// 0.06.
std::string sentence_of_uncertain_signs(const std::vector<double>& differences) {
  auto results = two_arms(differences, std::vector<double>(differences.size(), 0.0));
  analyze_claims(results);
  results.verdicts.at(0).sign_flip_p = 0.06;
  return sentence(results, results.verdicts.at(0));
}

// Above 40 pairs: 1 / 5,000 is the smallest p of drawn signs, and not of the exact test.
TEST(VerdictText, ComparesTheSignFlipTestWithTheSmallestPOfItsMethod) {
  const std::string note = "; with the sign-flip test in place of the t-test, p is 0.06";
  std::vector<double> drawn{1e-3}, drawn_above, exact(60, -0.01);
  for (int i = 0; i < 59; ++i) drawn.push_back(-1 - std::sqrt(i));
  const auto smallest = sentence_of_uncertain_signs(drawn);
  EXPECT_TRUE(smallest.starts_with("validation loss of hybrid is lower than of pre")) << smallest;
  EXPECT_FALSE(mentions(smallest, "sign-flip")) << smallest;
  for (int i = 0; i < 60; ++i) drawn_above.push_back(std::sin(i) + 0.25);  // p is above 1 / 5,000
  EXPECT_TRUE(mentions(sentence_of_uncertain_signs(drawn_above), note));
  std::fill_n(exact.begin(), 10, 0.01);  // few sums: p is 1e-7
  EXPECT_TRUE(mentions(sentence_of_uncertain_signs(exact), note));
}

// Of test = "bootstrap" from 10 pairs on: most resamples lack the outlier, and are far from 0.
TEST(VerdictText, NamesTheBootstrapThatTheSignFlipTestReplaces) {
  auto results = two_arms({-1, -1.1, -1.2, -1.3, -1.4, -1.5, -1.6, -1.7, -1.8, -1.9, -2, -30},
                          std::vector<double>(12, 0.0));
  results.study.uses_bootstrap = true;
  const auto text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "do not differ significantly with 12 seeds")) << text;
  EXPECT_TRUE(mentions(text, "; with the sign-flip test in place of the bootstrap, p is ")) << text;
  // Of equal differences with one outlier, too many resamples have no variance: a t-test.
  results =
      two_arms({-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -30}, std::vector<double>(12, 0.0));
  results.study.uses_bootstrap = true;
  const auto of_t = first_sentence(results);
  EXPECT_TRUE(mentions(of_t, "; with the sign-flip test in place of the t-test, p is ")) << of_t;
}

TEST(VerdictText, SaysThatConstantsAreNotTested) {
  EXPECT_EQ(first_sentence(equivalence({1, 1, 1}, {1, 1, 1})),
            "validation loss of hybrid less that of pre: 0 [0, 0] nats per token (3 seeds); not "
            "tested: the results of neither arm depend on the seed; equivalence cannot be tested "
            "without variance");
}

TEST(VerdictText, SaysThatTheMachineWasBusy) {
  auto results = two_arms({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].measure.kind = Measure::Kind::step_time;
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) seed_run.run.step_seconds.add(1, 0.02);
  }
  results.arms[1].seed_runs[2].run.cpu_contention = 0.34;
  const auto text = first_sentence(results);
  EXPECT_TRUE(mentions(
      text,
      "; not tested: other processes took up to 34 % of the processors' time while 1 of 6 runs "
      "was timed; remove its folder from the pool"))
      << text;
  results.arms[0].seed_runs[2].run.cpu_contention = 0.34;
  EXPECT_TRUE(
      mentions(first_sentence(results), "2 of 6 runs were timed; remove their folders from"))
      << first_sentence(results);
}

TEST(VerdictText, SaysThatRunsAreMissing) {
  auto results = two_arms({1.00, 1.11, 1.19, 1.25}, {1.10, 1.20, 1.30, 1.35});
  results.arms[0].seed_runs[3].state = SeedRun::State::missing;
  const auto text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "; not tested: runs of hybrid are missing; a verdict needs all"))
      << text;
  EXPECT_TRUE(text.ends_with("; 1 of 4 runs of hybrid is missing")) << text;
  results.arms[0].seed_runs[2].state = SeedRun::State::missing;
  EXPECT_TRUE(first_sentence(results).ends_with("; 2 of 4 runs of hybrid are missing"))
      << first_sentence(results);
}

TEST(VerdictText, SaysThatRunsCrashed) {
  auto results = two_arms({1.00, 1.11, 1.19, 1.25}, {1.10, 1.20, 1.30, 1.35});
  results.arms[0].seed_runs[3].state = SeedRun::State::crashed;
  auto text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "; not tested: runs of hybrid crashed; a verdict needs all")) << text;
  EXPECT_TRUE(text.ends_with("; 1 of 4 runs of hybrid crashed")) << text;
  results.arms[1].seed_runs[3].state = SeedRun::State::missing;
  text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "not tested: runs of hybrid crashed and runs of pre are missing;"))
      << text;
  results.arms[0].seed_runs[3].state = SeedRun::State::missing;
  text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "not tested: runs of hybrid and runs of pre are missing;")) << text;
  results.arms[0].seed_runs[2].state = SeedRun::State::crashed;
  text = first_sentence(results);
  EXPECT_TRUE(mentions(text, "runs of hybrid crashed or are missing and runs of pre are missing;"))
      << text;
}

TEST(VerdictText, SaysThatRunsOfAShareOfFailuresCrashed) {
  auto results = two_arms({1, 1, 1}, {1, kFailed, kFailed});
  results.study.claims[0].kind = Claim::Kind::fails;
  results.study.claims[0].of = {{"scheme", "pre"}};
  results.study.claims[0].than.clear();
  auto& runs = results.arms[1].seed_runs;
  runs[0].state = SeedRun::State::crashed;
  EXPECT_TRUE(first_sentence(results).ends_with("; 1 of 3 runs of pre crashed"))
      << first_sentence(results);
  for (auto& run : runs) run.state = SeedRun::State::crashed;
  EXPECT_EQ(first_sentence(results), "no run of pre has a result; 3 of 3 runs of pre crashed");
  for (auto& run : runs) run.state = SeedRun::State::missing;
  EXPECT_EQ(first_sentence(results), "pre has no run yet");
}

TEST(VerdictText, NamesAMeasureThatFinishedRunsLack) {
  auto results = two_arms({1.0, 1.1, 1.2}, {1.0, 1.1, 1.2});
  results.study.claims[0].measure = {.kind = Measure::Kind::probe, .probe = "grad_norm"};
  EXPECT_EQ(first_sentence(results),
            "hybrid and pre finished without a finite mean of grad_norm over blocks");
}

TEST(VerdictText, CountsFailedRuns) {
  const double x = kFailed;
  EXPECT_TRUE(
      mentions(first_sentence(two_arms({1.0, 1.1, 1.2}, {x, x, x})), "3 of 3 runs of pre failed"));
  EXPECT_TRUE(mentions(first_sentence(two_arms({1.00, 1.11, 1.19, x}, {1.10, 1.20, 1.30, 1.4})),
                       "1 of 4 runs of hybrid failed"));
}

TEST(VerdictText, NamesTheTestOfFailures) {
  const double x = kFailed;
  const auto lower =
      first_sentence(two_arms({x, x, x, 1.0, x, x, 0.9, x}, {1, 1.1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(
      lower.ends_with("(2 seeds) over the finished runs; 6 of 8 runs of hybrid failed; that "
                      "hybrid fails more often: p 0.028 (Fisher)"))
      << lower;
  const auto alike = first_sentence(equivalence({1.000, 1.101, 1.199, x, x, x, x, x},
                                                {1.001, 1.100, 1.200, 1.3, 1.3, 1.3, 1.3, 1.3}));
  EXPECT_TRUE(alike.ends_with("that hybrid fails more often: p 0.205 (Fisher)")) << alike;
}

TEST(VerdictText, OfFailsNamesTheSeedsThatWouldBeSignificant) {
  auto results =
      two_arms({1, 1, 1, 1, 1, 1, 1}, {kFailed, kFailed, kFailed, 1, kFailed, kFailed, kFailed});
  results.study.claims[0].kind = Claim::Kind::fails;
  results.study.claims[0].of = {{"scheme", "pre"}};
  results.study.claims[0].than.clear();
  const auto text = first_sentence(results);
  EXPECT_TRUE(text.starts_with("6 of 7 runs of pre failed")) << text;
  EXPECT_TRUE(text.ends_with("p 0.125, 6 seeds that all agree would be significant")) << text;
}

// A search chooses what trains, so that `trains` is weak evidence after it.
TEST(VerdictText, NamesTheSearchInAClaimThatAnArmTrains) {
  auto results = two_arms({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].kind = Claim::Kind::trains;
  results.study.claims[0].than.clear();
  EXPECT_FALSE(mentions(first_sentence(results), "search"));
  results.study.tune = SearchConfig{.key = "schedule.peak"};
  EXPECT_TRUE(first_sentence(results).ends_with(
      "; each arm with the schedule.peak at which a search found its lowest loss"));
}

TEST(VerdictText, ListsTheLargestTrainableValueOfEachSeed) {
  auto results = depth_study({"8", "16"}, {1, 2});
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "8"}}, {1, kFailed}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {kFailed, 1}),
                  arm({{"scheme", "post"}, {"model.layers", "8"}}, {kFailed, kFailed}),
                  arm({{"scheme", "post"}, {"model.layers", "16"}}, {1, 1})};
  EXPECT_EQ(first_sentence(results),
            "hybrid trains up to model.layers 8, none (seed by seed), post up to none, none; sign "
            "test over the seeds: p 1.000, 6 seeds that all agree would be significant");
}

TEST(VerdictText, NamesTheSeedsOfWhichARunCrashedOrIsMissing) {
  for (const auto state : {SeedRun::State::crashed, SeedRun::State::missing}) {
    auto results = depth_study({"8", "16"}, {1, 2});
    for (const auto* const layers : {"8", "16"}) {
      results.arms.push_back(arm({{"scheme", "hybrid"}, {"model.layers", layers}}, {1, 1}));
      results.arms.push_back(arm({{"scheme", "post"}, {"model.layers", layers}}, {1, kFailed}));
    }
    results.arms[2].seed_runs[1].state = state;
    EXPECT_EQ(
        first_sentence(results),
        "hybrid trains up to model.layers 16, – (seed by seed), post up to 16, none; –: a run "
        "of the seed crashed or is missing");
  }
}

// Names of arms have commas.
TEST(ConfounderLines, ListTheArmsOfEachValue) {
  const Confounder confounder{
      .covariate = "parameters",
      .groups = {{"30,720", {"pre, peak 0.003", "pre, peak 0.01"}}, {"30,721", {"post"}}}};
  EXPECT_EQ(confounder_lines(confounder),
            (std::vector<std::string>{"30,720: pre, peak 0.003; pre, peak 0.01", "30,721: post"}));
}

}  // namespace
}  // namespace evenkeel::study
