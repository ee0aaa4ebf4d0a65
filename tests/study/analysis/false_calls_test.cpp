// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "evenkeel/base/philox.h"
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

/// A study of two equal arms at three learning rates whose losses nearly tie.
Results equal_sweeps(std::uint64_t index) {
  constexpr std::uint64_t kSeeds = 10;
  const Philox random(1, "test/false_calls/sweep");
  Results results;
  results.study.axes = {axis("scheme", {"a", "b"}), axis("schedule.peak", {"1", "2", "4"})};
  std::uint64_t at = 0;
  for (const char* name : {"a", "b"}) {
    for (int rate = 0; rate < 3; ++rate) {
      std::vector<double> losses;
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        losses.push_back(0.5 * rate + random.normal(at++, index));
      }
      const auto& label = results.study.axes[1].values[static_cast<std::size_t>(rate)].label;
      results.arms.push_back(arm({{"scheme", name}, {"schedule.peak", label}}, losses));
    }
  }
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    results.study.seeds.push_back(static_cast<std::int64_t>(seed));
  }
  Claim claim{.says = "a is lower", .of = {{"scheme", "a"}}, .than = {{"scheme", "b"}}};
  claim.measure = {.kind = Measure::Kind::sweep, .axis = "schedule.peak", .cap = 99};
  results.study.claims = {claim};
  return results;
}

// A paired t-test of the losses at the chosen rates calls a difference in 11 % of these studies:
// all seeds of a half share one choice.
TEST(EqualSweeps, AreCalledDifferentInFivePercentOfTheStudies) {
  // Standard error 0.24 points.
  const std::uint64_t studies = is_sanitized() ? kSanitizedStudies : 8000;
  int called = 0;
  for (std::uint64_t i = 0; i < studies; ++i) {
    const auto outcome = first_verdict(equal_sweeps(i)).outcome;
    called += outcome == Verdict::Outcome::supported || outcome == Verdict::Outcome::contradicted;
  }
  if (is_sanitized()) GTEST_SKIP() << kTooFew;
  const double share = static_cast<double>(called) / static_cast<double>(studies);
  RecordProperty("share", std::to_string(share));
  EXPECT_GE(share, 0.035);
  EXPECT_LE(share, 0.055);
}

}  // namespace
}  // namespace evenkeel::study
