// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "evenkeel/base/load.h"
#include "evenkeel/study/statistics.h"

namespace evenkeel::study {
namespace {

using Outcome = Verdict::Outcome;

/// A run that ended with this validation loss; NaN: it failed.
Member member(std::int64_t seed, double loss) {
  Member out{.seed = seed, .value = loss};
  out.state = std::isfinite(loss) ? Member::State::finished : Member::State::failed;
  if (!std::isfinite(loss)) out.why = "diverged at step 9";
  out.run.validation_loss.add(100, loss);
  return out;
}

Arm arm(const std::map<std::string, std::string>& labels, const std::vector<double>& losses) {
  Arm out{.name = labels.at("scheme"), .labels = labels};
  if (labels.contains("model.layers")) out.name += ", layers " + labels.at("model.layers");
  std::int64_t seed = 0;
  for (const auto loss : losses) out.members.push_back(member(++seed, loss));
  return out;
}

Axis axis(const std::string& name, const std::vector<std::string>& labels) {
  Axis out{name, {}};
  for (const auto& label : labels) out.values.push_back({label, {name + "=" + label}});
  return out;
}

Results two(const std::vector<double>& ours, const std::vector<double>& theirs) {
  Results results;
  results.study.axes = {axis("scheme", {"hybrid", "pre"})};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    results.study.seeds.push_back(static_cast<std::int64_t>(i) + 1);
  }
  Claim claim;
  claim.says = "hybrid is lower";
  claim.of = {{"scheme", "hybrid"}};
  claim.than = {{"scheme", "pre"}};
  results.study.claims = {claim};
  results.arms = {arm({{"scheme", "hybrid"}}, ours), arm({{"scheme", "pre"}}, theirs)};
  return results;
}

Verdict verdict_of(Results results) {
  judge(results);
  return results.verdicts.at(0);
}

const double kFailed = std::nan("");

TEST(Judge, CallsADifferenceThatIsThereInEverySeed) {
  const auto verdict = verdict_of(two({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30}));
  EXPECT_EQ(verdict.outcome, Outcome::holds);
  ASSERT_TRUE(verdict.difference.has_value());
  EXPECT_NEAR(verdict.difference->mean, -0.1, 1e-12);
  EXPECT_NE(verdict.sentence.find("validation loss of hybrid is lower than of pre by 0.1 ["),
            std::string::npos)
      << verdict.sentence;
}

TEST(Judge, ContradictsAClaimOfTheOtherSign) {
  EXPECT_EQ(verdict_of(two({1.10, 1.20, 1.30}, {1.00, 1.11, 1.19})).outcome, Outcome::contradicted);
}

TEST(Judge, SaysHowManySeedsADifferenceWouldNeed) {
  const auto verdict = verdict_of(two({1.0, 1.3, 1.1}, {1.1, 1.2, 1.25}));
  EXPECT_EQ(verdict.outcome, Outcome::undecided);
  ASSERT_TRUE(verdict.needed.has_value());
  EXPECT_NE(verdict.sentence.find("are not told apart with 3 seeds"), std::string::npos);
  EXPECT_NE(verdict.sentence.find(" seeds would be needed"), std::string::npos);
}

TEST(Judge, PairsRunsBySeedNotByRank) {
  // The same values in another order: no difference in the mean, but a wide spread of pairs.
  const auto verdict = verdict_of(two({1.0, 2.0, 3.0}, {2.0, 3.0, 1.0}));
  EXPECT_NEAR(verdict.difference->mean, 0, 1e-12);
  EXPECT_GT(verdict.difference->deviation, 1);
}

TEST(Judge, RunsThatFailAreAnOutcomeThatFourSeedsCanTell) {
  const auto four = verdict_of(two({1.0, 1.1, 1.2, 1.3}, {kFailed, kFailed, kFailed, kFailed}));
  EXPECT_EQ(four.outcome, Outcome::holds);  // Fisher: 2 / 70
  EXPECT_NEAR(four.p, 2.0 / 70, 1e-12);
  const auto ours = verdict_of(two({kFailed, kFailed, kFailed, kFailed}, {1.0, 1.1, 1.2, 1.3}));
  EXPECT_EQ(ours.outcome, Outcome::contradicted);
  const auto three = verdict_of(two({1.0, 1.1, 1.2}, {kFailed, kFailed, kFailed}));
  EXPECT_EQ(three.outcome, Outcome::undecided);
  EXPECT_NE(three.sentence.find("3 of 3 runs of pre failed"), std::string::npos) << three.sentence;
}

TEST(Judge, ALowerMeanDoesNotHideThatMoreRunsFailed) {
  const auto verdict = verdict_of(two({1.00, 1.11, 1.19, kFailed}, {1.10, 1.20, 1.30, 1.4}));
  EXPECT_EQ(verdict.outcome, Outcome::undecided);
  EXPECT_NE(verdict.sentence.find("1 of 4 runs of hybrid failed"), std::string::npos);
}

// Six of eight fail: Fisher 0.007, which counts twice beside what the two that are left say.
TEST(Judge, FailuresDecideWhereThereAreSurvivorsToo) {
  const double x = kFailed;
  const auto verdict = verdict_of(two({x, x, x, 1.0, x, x, 0.9, x}, {1, 1.1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(verdict.outcome, Outcome::contradicted);
  EXPECT_NEAR(verdict.p, 2 * p_of_shares(6, 8, 0, 8), 1e-12);
  EXPECT_TRUE(verdict.sentence.ends_with(
      "(2 seeds) of those that finished; 6 of 8 runs of hybrid failed; that hybrid fails more "
      "often: p 0.014 (Fisher)"))
      << verdict.sentence;
}

// A crash, a stop: nobody knows what the missing runs would have said.
TEST(Judge, WaitsForAllRuns) {
  auto results = two({1.00, 1.11, 1.19, 1.25}, {1.10, 1.20, 1.30, 1.35});
  ASSERT_EQ(verdict_of(results).outcome, Outcome::holds);
  results.study.baseline = {{"scheme", "pre"}};
  for (const auto state : {Member::State::missing, Member::State::crashed}) {
    results.arms[0].members[3].state = state;
    judge(results);
    for (const auto& verdict : {results.verdicts.at(0), results.against_baseline.at(0)}) {
      EXPECT_EQ(verdict.outcome, Outcome::unjudged);
      EXPECT_EQ(verdict.p, 1);
      EXPECT_NE(verdict.sentence.find("; not judged: runs of hybrid are missing"),
                std::string::npos)
          << verdict.sentence;
    }
  }
}

TEST(Judge, LooksAtAClaimWhereverTheOtherAxesLeaveItOpen) {
  auto results = two({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  results.study.axes.push_back(axis("model.layers", {"2", "4"}));
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "2"}}, {1.00, 1.11, 1.19}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "4"}}, {1.10, 1.20, 1.30}),
                  arm({{"scheme", "pre"}, {"model.layers", "2"}}, {1.10, 1.20, 1.30}),
                  arm({{"scheme", "pre"}, {"model.layers", "4"}}, {1.00, 1.11, 1.19})};
  judge(results);
  ASSERT_EQ(results.verdicts.size(), 2U);
  EXPECT_EQ(results.verdicts[0].where, "layers 2");
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::holds);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::contradicted);
  results.study.claims[0].at = {{"model.layers", "4"}};
  judge(results);
  EXPECT_EQ(results.verdicts.size(), 1U);
}

TEST(Judge, CorrectsForEverythingThatIsAskedAndCountsAQuestionOnce) {
  auto results = two({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  judge(results);
  const double alone = results.verdicts[0].p;
  auto mirrored = results.study.claims[0];
  std::swap(mirrored.of, mirrored.than);
  results.study.claims.push_back(mirrored);
  results.study.baseline = {{"scheme", "pre"}};
  judge(results);
  EXPECT_EQ(results.verdicts[0].p, alone);  // the same question, three times
  EXPECT_EQ(results.verdicts[1].p, alone);
  EXPECT_EQ(results.against_baseline[0].p, alone);
  results.study.claims[1].measure.of = Measure::Of::loss;
  for (auto& arm : results.arms) {
    for (auto& member : arm.members) member.run.loss.add(1, member.value);
  }
  judge(results);
  EXPECT_NEAR(results.verdicts[0].p, 2 * alone, 1e-12);
}

// Comparisons that nobody claims anything of do not make claims harder to decide.
TEST(Judge, CorrectsWhatNobodyClaimsApart) {
  auto results = two({1.00, 1.13, 1.17}, {1.10, 1.20, 1.30});
  judge(results);
  const double alone = results.verdicts[0].p;
  results.study.axes[0].values.push_back({"post", {"scheme=post"}});
  results.study.axes[0].values.push_back({"mix", {"scheme=mix"}});
  results.study.baseline = {{"scheme", "pre"}};
  results.arms.push_back(arm({{"scheme", "post"}}, {1.00, 1.13, 1.17}));
  results.arms.push_back(arm({{"scheme", "mix"}}, {1.10, 1.24, 1.29}));
  judge(results);
  EXPECT_EQ(results.verdicts[0].p, alone);
  EXPECT_EQ(results.against_baseline[0].p, alone);  // the claim's question
  EXPECT_NEAR(results.against_baseline[1].p, 2 * alone, 1e-12);
}

TEST(Judge, AsksForTheSeedsOfTheStrictestLevel) {
  auto results = two({1.0, 1.3, 1.1}, {1.1, 1.2, 1.25});
  results.study.claims.push_back(results.study.claims[0]);
  results.study.claims[1].measure.of = Measure::Of::loss;
  for (auto& arm : results.arms) {
    for (auto& member : arm.members) member.run.loss.add(1, member.value);
  }
  judge(results);
  EXPECT_EQ(results.verdicts[0].needed,
            pairs_needed(results.verdicts[0].difference->effect, 0.05 / 2));
}

TEST(Judge, NeedsMoreSeedsWhereMoreIsAsked) {
  auto results = two({1.0, 1.3, 1.1}, {1.1, 1.2, 1.25});
  judge(results);
  const auto alone = results.verdicts[0].needed;
  results.study.claims.push_back(results.study.claims[0]);
  results.study.claims[1].kind = Claim::Kind::alike;
  results.study.claims[1].margin = 1;
  judge(results);
  ASSERT_TRUE(alone && results.verdicts[0].needed);
  EXPECT_GE(*results.verdicts[0].needed, *alone);
}

TEST(Judge, ComparesEveryArmWithTheBaseline) {
  auto results = two({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  results.study.claims.clear();
  results.study.baseline = {{"scheme", "pre"}};
  judge(results);
  ASSERT_EQ(results.against_baseline.size(), 1U);
  EXPECT_EQ(results.against_baseline[0].of, "hybrid");
  EXPECT_EQ(results.against_baseline[0].outcome, Outcome::holds);
}

// That fewer than half of such runs fail, or more: seven seeds that all agree decide two questions.
TEST(Judge, FailureAndSurvivalAreClaims) {
  const std::vector<double> good(7, 1.0), bad(7, kFailed);
  auto results = two(good, bad);
  Claim trains, fails;
  trains.kind = Claim::Kind::trains;
  trains.of = {{"scheme", "hybrid"}};
  fails.kind = Claim::Kind::fails;
  fails.of = {{"scheme", "pre"}};
  results.study.claims = {trains, fails};
  judge(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::holds);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::holds);
  EXPECT_NEAR(results.verdicts[1].p, 2 * p_of_signs(7, 0), 1e-12);
  results.arms[1].members[3] = member(4, 1.0);
  judge(results);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::undecided);
  EXPECT_NE(results.verdicts[1].sentence.find("6 of 7 runs of pre failed"), std::string::npos);
  EXPECT_TRUE(
      results.verdicts[1].sentence.ends_with("p 0.125, 7 seeds that all agree would tell"))
      << results.verdicts[1].sentence;
  std::swap(results.study.claims[0].of, results.study.claims[1].of);
  results.arms = two(good, bad).arms;
  judge(results);
  EXPECT_EQ(results.verdicts[0].outcome, Outcome::contradicted);
  EXPECT_EQ(results.verdicts[1].outcome, Outcome::contradicted);
}

// It looks for what trains, so that "trains" is no surprise afterwards.
TEST(Judge, SaysWhereASearchHasChosenWhatTrains) {
  auto results = two({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].kind = Claim::Kind::trains;
  results.study.claims[0].than.clear();
  EXPECT_EQ(verdict_of(results).sentence.find("search"), std::string::npos);
  results.study.tune = Tune{.key = "schedule.peak"};
  EXPECT_TRUE(verdict_of(results).sentence.ends_with(
      "; each arm with the schedule.peak at which a search found its lowest loss, so one that "
      "trains"));
}

/// That hybrid trains at greater depth than post; without runs.
Results further(const std::vector<std::string>& layers, const std::vector<std::int64_t>& seeds) {
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

TEST(Judge, FollowsAnAxisToTheFirstValueThatFails) {
  auto results = further({"8", "16", "32"}, {1, 2, 3, 4, 5, 6});
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
  judge(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Outcome::holds);
  EXPECT_NEAR(results.verdicts.at(0).p, 2.0 / 64, 1e-12);
  EXPECT_EQ(results.verdicts.at(0).sentence,
            "hybrid trains up to model.layers 32, 16, 32, 32, 32, 32 (seed by seed), post up to 8, "
            "8, 8, 8, 8, 8; sign test over the seeds: p 0.031");
  results.arms[1] =
      arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {1, kFailed, 1, 1, 1, 1});  // a tie
  judge(results);
  EXPECT_EQ(results.verdicts.at(0).outcome, Outcome::undecided);
  EXPECT_TRUE(
      results.verdicts.at(0).sentence.ends_with("p 0.062, 6 seeds that all agree would tell"))
      << results.verdicts.at(0).sentence;
}

TEST(Judge, SaysNoneWhereTheFirstValueAlreadyFails) {
  auto results = further({"8", "16"}, {1, 2});
  results.arms = {arm({{"scheme", "hybrid"}, {"model.layers", "8"}}, {1, kFailed}),
                  arm({{"scheme", "hybrid"}, {"model.layers", "16"}}, {kFailed, 1}),
                  arm({{"scheme", "post"}, {"model.layers", "8"}}, {kFailed, kFailed}),
                  arm({{"scheme", "post"}, {"model.layers", "16"}}, {1, 1})};
  judge(results);
  EXPECT_TRUE(results.verdicts.at(0).sentence.starts_with(
      "hybrid trains up to model.layers 8, none (seed by seed), post up to none, none; sign test"))
      << results.verdicts.at(0).sentence;
}

// 6 would do for one question: 2 / 2^6 is 0.031.
TEST(Judge, KnowsHowManySeedsASignTestNeedsAmongOtherQuestions) {
  EXPECT_EQ(signs_needed(0.05), 6);
  EXPECT_EQ(signs_needed(0.05 / 4), 8);
  EXPECT_EQ(signs_needed(0.05 / 6), 8);
  EXPECT_EQ(signs_needed(0.05 / 7), 9);
}

TEST(Judge, AlikeWantsTheWholeIntervalWithinTheMargin) {
  auto results = two({1.000, 1.101, 1.199}, {1.001, 1.100, 1.200});
  results.study.claims[0].kind = Claim::Kind::alike;
  results.study.claims[0].margin = 0.01;
  EXPECT_EQ(verdict_of(results).outcome, Outcome::holds);
  results.study.claims[0].margin = 0.0005;
  EXPECT_EQ(verdict_of(results).outcome, Outcome::undecided);
  auto apart = two({1.00, 1.11, 1.19}, {1.10, 1.20, 1.30});
  apart.study.claims[0].kind = Claim::Kind::alike;
  apart.study.claims[0].margin = 0.01;
  EXPECT_EQ(verdict_of(apart).outcome, Outcome::contradicted);
}

// As where no answer is right: tests of equivalence go by how differences scatter.
TEST(Judge, DoesNotCallEqualConstantsAProvenEquivalence) {
  auto results = two({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].kind = Claim::Kind::alike;
  results.study.claims[0].margin = 0.05;
  const auto verdict = verdict_of(results);
  EXPECT_EQ(verdict.outcome, Outcome::unjudged);
  EXPECT_EQ(verdict.p, 1);
  EXPECT_EQ(verdict.sentence,
            "validation loss of hybrid less that of pre: 0 [0, 0] nats a token (3 seeds); not "
            "judged: no seed changes what either arm comes to, and runs that do not scatter cannot "
            "show that two arms are alike");
  results.arms = two({1, 1, 1}, {1.01, 1.01, 1.01}).arms;
  EXPECT_EQ(verdict_of(results).outcome, Outcome::unjudged);
  results.arms = two({1.0, 1.1, 1.2}, {1.0, 1.1, 1.2}).arms;  // the same bits, seed by seed
  EXPECT_EQ(verdict_of(results).outcome, Outcome::holds);
}

// The rule of `bench`: timings are void where others took more than a tenth of the machine.
TEST(Judge, DoesNotJudgeTimesOfABusyMachine) {
  auto results = two({1, 1, 1}, {1, 1, 1});
  results.study.claims[0].measure.of = results.study.measure.of = Measure::Of::step_time;
  results.study.baseline = {{"scheme", "pre"}};
  for (auto& arm : results.arms) {
    for (auto& member : arm.members) {
      const double seed = static_cast<double>(member.seed);
      member.run.step_seconds.add(1, arm.name == "pre" ? 0.02 : 0.010 + 1e-5 * seed);
      member.run.others = Load::kMost;
    }
  }
  EXPECT_EQ(verdict_of(results).outcome, Outcome::holds);
  results.arms[1].members[2].run.others = 0.34;
  judge(results);
  for (const auto& verdict : {results.verdicts.at(0), results.against_baseline.at(0)}) {
    EXPECT_EQ(verdict.outcome, Outcome::unjudged);
    EXPECT_EQ(verdict.p, 1);
    EXPECT_NE(verdict.sentence.find("; not judged: others took up to 34 % of the processors' time "
                                    "while 1 of 6 runs were timed"),
              std::string::npos)
        << verdict.sentence;
  }
  results.study.claims[0].measure.of = Measure::Of::val_loss;  // which no load changes
  EXPECT_EQ(verdict_of(results).outcome, Outcome::undecided);
}

TEST(Judge, SaysSoWhereFinishedRunsDidNotMeasure) {
  auto results = two({1.0, 1.1, 1.2}, {1.0, 1.1, 1.2});
  results.study.claims[0].measure = {.of = Measure::Of::probe, .probe = "grad_norm"};
  const auto verdict = verdict_of(results);
  EXPECT_EQ(verdict.outcome, Outcome::unmeasured);
  EXPECT_EQ(verdict.sentence,
            "hybrid and pre have finished, but have no mean of grad_norm over blocks");
}

TEST(Judge, FitsAPowerLawThroughTheMeansOfAScheme) {
  Results results;
  results.study.axes = {axis("scheme", {"pre"}), axis("size", {"small", "middle", "large"})};
  results.study.seeds = {1};
  results.study.power_law = "parameters";
  for (const std::int64_t size : {100, 1000, 10000}) {
    results.arms.push_back(
        arm({{"scheme", "pre"}}, {5 * std::pow(static_cast<double>(size), -0.1)}));
    results.arms.back().parameters = size;
  }
  judge(results);
  ASSERT_EQ(results.fits.size(), 1U);
  EXPECT_NEAR(results.fits[0].law.exponent, 0.1, 1e-9);
}

}  // namespace
}  // namespace evenkeel::study
