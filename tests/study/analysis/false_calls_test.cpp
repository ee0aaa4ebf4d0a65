// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "evenkeel/base/philox.h"
#include "evenkeel/study/analysis/multiple_testing.h"
#include "evenkeel/study/analysis/statistics.h"
#include "evenkeel/study/definition/grid.h"
#include "evenkeel/study/runs/refinement.h"
#include "study/claim_fixture.h"
#include "support/sanitizers.h"

/// Studies of arms that are equal by construction: the share with a verdict of "supported" or
/// "contradicted" anywhere among their claims.
namespace evenkeel::study {
namespace {

constexpr std::uint64_t kArms = 4;  // the last is the reference

struct Case {
  const char* name;
  std::uint64_t seeds;
  std::vector<double> deviations;  // of each arm
  double failing = 0;              // share of the runs
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name << " with " << each.seeds << " seeds";
}

/// The study `index`: a loss has a part of its seed, which all arms share, and a part of its own.
Results equal_arms(const Case& each, std::uint64_t index) {
  const Philox random(1, std::string("test/false_calls/") + each.name);
  Results results;
  results.study.axes = {axis("scheme", {"a", "b", "c", "reference"})};
  const std::vector<std::string> names{"a", "b", "c", "reference"};
  for (std::uint64_t i = 0; i < kArms; ++i) {
    std::vector<double> losses;
    for (std::uint64_t seed = 0; seed < each.seeds; ++seed) {
      const auto at = 1000 * seed + 10 * i;
      const double loss =
          random.normal(1000 * seed + 999, index) + each.deviations[i] * random.normal(at, index);
      losses.push_back(random.uniform(at + 1, index) < each.failing ? kFailed : loss);
    }
    results.arms.push_back(arm({{"scheme", names[i]}}, losses));
  }
  for (std::uint64_t seed = 1; seed <= each.seeds; ++seed) {
    results.study.seeds.push_back(static_cast<std::int64_t>(seed));
  }
  for (std::uint64_t i = 0; i + 1 < kArms; ++i) {
    Claim claim;
    claim.says = names[i] + " is lower";
    claim.of = {{"scheme", names[i]}};
    claim.than = {{"scheme", "reference"}};
    results.study.claims.push_back(claim);
  }
  return results;
}

/// Studies that a simulation of a minute runs under sanitizers, which judge memory and no share.
constexpr std::uint64_t kSanitizedStudies = 40;
constexpr const char* kTooFew = "under sanitizers 40 studies ran: too few for a share";

class EqualArms : public ::testing::TestWithParam<Case> {};

TEST_P(EqualArms, AreCalledDifferentInFivePercentOfTheStudies) {
  // Standard error 0.35 points.
  const bool is_short = GetParam().seeds == 20 && is_sanitized();
  const std::uint64_t studies = is_short ? kSanitizedStudies : 4000;
  int called = 0;
  for (std::uint64_t i = 0; i < studies; ++i) {
    auto results = equal_arms(GetParam(), i);
    analyze_claims(results);
    called += std::any_of(results.verdicts.begin(), results.verdicts.end(),
                          [](const Verdict& verdict) {
                            return verdict.outcome == Verdict::Outcome::supported ||
                                   verdict.outcome == Verdict::Outcome::contradicted;
                          })
                  ? 1
                  : 0;
  }
  if (is_short) GTEST_SKIP() << kTooFew;
  const double share = static_cast<double>(called) / static_cast<double>(studies);
  RecordProperty("share", std::to_string(share));
  EXPECT_GE(share, 0.035);
  EXPECT_LE(share, 0.055);
}

const std::vector<double> kEqual{1, 1, 1, 1}, kUnequal{0.3, 1, 5, 1};
INSTANTIATE_TEST_SUITE_P(
    Studies, EqualArms,
    ::testing::Values(Case{"normal_3", 3, kEqual}, Case{"normal_5", 5, kEqual},
                      Case{"normal_10", 10, kEqual}, Case{"normal_20", 20, kEqual},
                      Case{"unequal_3", 3, kUnequal}, Case{"unequal_5", 5, kUnequal},
                      Case{"unequal_10", 10, kUnequal}, Case{"unequal_20", 20, kUnequal},
                      Case{"failures_3", 3, kEqual, 0.1}, Case{"failures_5", 5, kEqual, 0.1},
                      Case{"failures_10", 10, kEqual, 0.1}, Case{"failures_20", 20, kEqual, 0.1}),
    [](const auto& each) { return std::string(each.param.name); });

using Losses = std::vector<double>;

/// Two arms at several learning rates, compared by their best losses.
struct SweepCase {
  const char* name;
  std::uint64_t seeds;
  std::array<Losses, 2> means;  // of each arm, at each rate
  std::array<double, 2> deviations{1, 1};
  double most = 0.06;  // false calls
  double margin = 0;   // above 0: the claim is that the arms are within it
};

void PrintTo(const SweepCase& each, std::ostream* out) {
  *out << each.name << " with " << each.seeds << " seeds";
}

/// The study `index` of two arms. Every loss has noise of its own.
Results sweeps(const SweepCase& each, std::uint64_t index) {
  const Philox random(1, std::string("test/false_calls/sweep/") + each.name);
  Results results;
  const std::vector<std::string> rates{"1", "2", "4", "8", "16", "32"};
  const auto count = each.means[0].size();
  results.study.axes = {axis("scheme", {"a", "b"}),
                        axis("schedule.peak", {rates.begin(), rates.begin() + count})};
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t rate = 0; rate < count; ++rate) {
      Losses losses;
      for (std::uint64_t seed = 0; seed < each.seeds; ++seed) {
        losses.push_back(each.means[i][rate] + each.deviations[i] * random.normal(at++, index));
      }
      results.arms.push_back(arm({{"scheme", results.study.axes[0].values[i].label},
                                  {"schedule.peak", results.study.axes[1].values[rate].label}},
                                 losses));
    }
  }
  for (std::uint64_t seed = 1; seed <= each.seeds; ++seed) {
    results.study.seeds.push_back(static_cast<std::int64_t>(seed));
  }
  Claim claim{.says = "a is lower", .of = {{"scheme", "a"}}, .than = {{"scheme", "b"}}};
  claim.measure = {.kind = Measure::Kind::sweep, .axis = "schedule.peak", .cap = 99};
  claim.kind = each.margin > 0 ? Claim::Kind::equivalent : Claim::Kind::lower;
  claim.margin = each.margin;
  results.study.claims = {claim};
  return results;
}

/// The shares of simulated studies with an outcome.
struct Shares {
  double supported = 0;
  double by_verdict = 0;    // "supported" or "contradicted"
  double by_sign_flip = 0;  // sign-flip p below 5 %
};

Shares called_shares(const SweepCase& each, std::uint64_t studies) {
  Shares out;
  for (std::uint64_t i = 0; i < studies; ++i) {
    const auto verdict = first_verdict(sweeps(each, i));
    out.supported += verdict.outcome == Verdict::Outcome::supported;
    out.by_verdict += verdict.outcome == Verdict::Outcome::supported ||
                      verdict.outcome == Verdict::Outcome::contradicted;
    out.by_sign_flip += verdict.sign_flip_p < kSignificanceLevel;
  }
  for (auto* const share : {&out.supported, &out.by_verdict, &out.by_sign_flip}) {
    *share /= static_cast<double>(studies);
  }
  return out;
}

class EqualSweeps : public ::testing::TestWithParam<SweepCase> {};

// Cross-fitting on two halves of the seeds, with a paired t-test, calls 10 to 15 % where the best
// rates nearly tie, since all seeds of a half share one choice.
TEST_P(EqualSweeps, AreCalledDifferentInFivePercentOfTheStudies) {
  // Standard error 0.34 points.
  const auto shares = called_shares(GetParam(), is_sanitized() ? kSanitizedStudies : 4000);
  if (is_sanitized()) GTEST_SKIP() << kTooFew;
  RecordProperty("share", std::to_string(shares.by_verdict));
  RecordProperty("sign_flip", std::to_string(shares.by_sign_flip));
  EXPECT_GE(shares.by_verdict, 0.03);
  EXPECT_LE(shares.by_verdict, GetParam().most);
  EXPECT_LE(shares.by_sign_flip, GetParam().most);
}

const Losses kNearlyTied{0, 0.5, 1}, kFalling{2, 1, 0}, kRising{0, 1, 2}, kClear{0, 9, 9},
    kTied{0, 0, 0};
const Losses kSixTied(6, 0.0), kSixClear{0, 9, 9, 9, 9, 9};
INSTANTIATE_TEST_SUITE_P(
    Studies, EqualSweeps,
    ::testing::Values(SweepCase{"near_3", 3, {kNearlyTied, kNearlyTied}},
                      SweepCase{"near_5", 5, {kNearlyTied, kNearlyTied}},
                      SweepCase{"near_10", 10, {kNearlyTied, kNearlyTied}},
                      SweepCase{"near_20", 20, {kNearlyTied, kNearlyTied}},
                      SweepCase{"other_best_3", 3, {kRising, kFalling}},
                      SweepCase{"other_best_5", 5, {kRising, kFalling}},
                      SweepCase{"other_best_10", 10, {kRising, kFalling}},
                      SweepCase{"other_best_20", 20, {kRising, kFalling}},
                      SweepCase{"unequal_3", 3, {kNearlyTied, kNearlyTied}, {0.3, 2}},
                      SweepCase{"unequal_10", 10, {kNearlyTied, kNearlyTied}, {0.3, 2}},
                      // The lowest of three equal means is too low by 0.85 of their deviation.
                      SweepCase{"flat_and_clear_10", 10, {kTied, kClear}, {1, 1}, 0.08},
                      SweepCase{"six_flat_and_clear_10", 10, {kSixTied, kSixClear}, {1, 1}, 0.13},
                      SweepCase{"six_flat_and_clear_20", 20, {kSixTied, kSixClear}, {1, 1}, 0.14}),
    [](const auto& each) { return std::string(each.param.name); });

/// Two arms whose losses are parabolas over the logarithm of the rate, equally low at their best.
struct RefinedCase {
  const char* name;
  std::uint64_t seeds;
  std::array<double, 2> best;       // log2 of the best rate
  std::array<double, 2> curvature;  // in deviations of the noise
  double most = 0.06;               // false calls
};

void PrintTo(const RefinedCase& each, std::ostream* out) {
  *out << each.name << " with " << each.seeds << " seeds";
}

/// The study `index`, with the further values that Study::refine adds.
Results refined_sweeps(const RefinedCase& each, std::uint64_t index) {
  const Philox random(1, std::string("test/false_calls/refined/") + each.name);
  Results results;
  auto& study = results.study;
  study.axes = {axis("scheme", {"a", "b"}),
                axis("schedule.peak", {"1", "2", "4", "8", "16", "32"})};
  study.refine = {.axis = "schedule.peak", .extend = 4, .cap = 99};
  for (std::uint64_t seed = 1; seed <= each.seeds; ++seed)
    study.seeds.push_back(static_cast<std::int64_t>(seed));
  study.claims = {{.says = "a is lower", .of = {{"scheme", "a"}}, .than = {{"scheme", "b"}}}};
  study.claims[0].measure = {.kind = Measure::Kind::sweep, .axis = "schedule.peak", .cap = 99};
  std::uint64_t at = 0;
  const auto run = [&](const std::vector<GridPoint>& points, std::vector<Arm>& arms) {
    for (const auto& point : points) {
      const auto x = std::log2(*number_of(point.labels.at("schedule.peak")));
      const std::size_t place = point.labels.at("scheme") == "a" ? 0 : 1;
      const double away = x - each.best[place];
      Losses losses;
      for (std::uint64_t seed = 0; seed < each.seeds; ++seed)
        losses.push_back(each.curvature[place] * away * away + random.normal(at++, index));
      arms.push_back(arm(point.labels, losses));
    }
  };
  const auto grid = grid_points(study);
  run(grid, results.arms);
  const auto all = [](const Study&, const GridPoint&) { return true; };
  for (auto points = further_points(grid, results, all); !points.empty();
       points = further_points(grid, results, all)) {
    run(points, results.further_arms);
  }
  return results;
}

class EqualRefinedSweeps : public ::testing::TestWithParam<RefinedCase> {};

TEST_P(EqualRefinedSweeps, AreCalledDifferentInFivePercentOfTheStudies) {
  const std::uint64_t studies = is_sanitized() ? kSanitizedStudies : 4000;
  double called = 0;
  for (std::uint64_t i = 0; i < studies; ++i) {
    const auto outcome = first_verdict(refined_sweeps(GetParam(), i)).outcome;
    called += outcome == Verdict::Outcome::supported || outcome == Verdict::Outcome::contradicted;
  }
  if (is_sanitized()) GTEST_SKIP() << kTooFew;
  const double share = called / static_cast<double>(studies);
  RecordProperty("share", std::to_string(share));
  EXPECT_GE(share, 0.02);  // flat curves have 2.3 %: the jackknife overestimates their noise
  EXPECT_LE(share, GetParam().most);
}

INSTANTIATE_TEST_SUITE_P(
    Studies, EqualRefinedSweeps,
    ::testing::Values(RefinedCase{"between_3", 3, {2.5, 2.5}, {4, 4}},
                      RefinedCase{"between_10", 10, {2.5, 2.5}, {4, 4}},
                      RefinedCase{"apart_5", 5, {1.25, 3.75}, {4, 4}},
                      RefinedCase{"apart_20", 20, {1.25, 3.75}, {4, 4}},
                      RefinedCase{"beyond_5", 5, {2.5, -1.5}, {4, 4}},
                      RefinedCase{"beyond_20", 20, {2.5, -1.5}, {4, 4}},
                      RefinedCase{"flat_10", 10, {2.5, 2.5}, {0.5, 0.5}},
                      RefinedCase{"flat_and_sharp_10", 10, {2.5, 2.5}, {0.1, 9}, 0.09}),
    [](const auto& each) { return std::string(each.param.name); });

class DifferentSweeps : public ::testing::TestWithParam<SweepCase> {};

// The minimum detectable effect is that of a t-test at 80 % power, in deviations of the difference.
TEST_P(DifferentSweeps, AreFoundWithThePowerOfATTest) {
  auto each = GetParam();
  const double effect =
      std::sqrt(2.0) * minimum_detectable_effect(static_cast<std::int64_t>(each.seeds), 0.05);
  for (auto& mean : each.means[0]) mean -= effect;
  const auto shares = called_shares(each, is_sanitized() ? kSanitizedStudies : 4000);
  if (is_sanitized()) GTEST_SKIP() << kTooFew;
  RecordProperty("share", std::to_string(shares.by_verdict));
  EXPECT_GE(shares.by_verdict, 0.77);
  EXPECT_GE(shares.by_verdict, shares.by_sign_flip - 0.03);
}

INSTANTIATE_TEST_SUITE_P(Studies, DifferentSweeps,
                         ::testing::Values(SweepCase{"near_5", 5, {kNearlyTied, kNearlyTied}},
                                           SweepCase{"near_20", 20, {kNearlyTied, kNearlyTied}},
                                           SweepCase{"other_best_5", 5, {kRising, kFalling}},
                                           SweepCase{"other_best_10", 10, {kRising, kFalling}},
                                           // As a difference at one fixed rate:
                                           SweepCase{"clear_3", 3, {kClear, kClear}},
                                           SweepCase{"clear_5", 5, {kClear, kClear}},
                                           SweepCase{"clear_10", 10, {kClear, kClear}},
                                           SweepCase{"clear_20", 20, {kClear, kClear}}),
                         [](const auto& each) { return std::string(each.param.name); });

/// Two arms whose best losses differ by just the margin.
class SweepsAMarginApart : public ::testing::TestWithParam<SweepCase> {};

TEST_P(SweepsAMarginApart, AreRarelyCalledAlike) {
  auto each = GetParam();
  each.margin = 3;
  for (auto& mean : each.means[0]) mean += each.margin;
  const auto shares = called_shares(each, is_sanitized() ? kSanitizedStudies : 4000);
  if (is_sanitized()) GTEST_SKIP() << kTooFew;
  RecordProperty("share", std::to_string(shares.supported));
  EXPECT_LE(shares.supported, each.most);
}

INSTANTIATE_TEST_SUITE_P(
    Studies, SweepsAMarginApart,
    ::testing::Values(SweepCase{"near_5", 5, {kNearlyTied, kNearlyTied}},
                      SweepCase{"near_10", 10, {kNearlyTied, kNearlyTied}},
                      SweepCase{"other_best_10", 10, {kRising, kFalling}},
                      SweepCase{"flat_and_clear_10", 10, {kTied, kClear}, {1, 1}, 0.12}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace evenkeel::study
