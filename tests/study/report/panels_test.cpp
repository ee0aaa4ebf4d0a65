// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/panels.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "evenkeel/study/analysis/claim_analysis.h"
#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

using Names = std::vector<std::string>;

Names names_of(const Panel& panel) {
  Names names;
  for (const auto& spec : panel.curve_specs) names.push_back(spec.name);
  return names;
}

std::vector<std::string> many_panels(std::size_t count) {
  std::vector<std::string> schemes = {"pre_norm"};
  while (schemes.size() < count) schemes.push_back("kind " + std::to_string(schemes.size()));
  return schemes;
}

TEST(Panels, AreOneForUpToEightArms) {
  const auto all = panels(sample_results({.layers = {"4", "8"}}), "", 12);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].where, "");
  EXPECT_EQ(names_of(all[0]),
            (Names{"pre_norm, layers 4", "pre_norm, layers 8", "hybrid_norm, layers 4",
                   "hybrid_norm, layers 8", "post_norm, layers 4", "post_norm, layers 8"}));
}

TEST(Panels, AreOneForEachValueOfTheOtherAxes) {
  const auto all = panels(sample_results({.layers = {"4", "8", "12"}}), "", 12);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].where, "layers 8");
  EXPECT_EQ(names_of(all[1]), (Names{"pre_norm", "hybrid_norm", "post_norm"}));
  EXPECT_EQ(panels(sample_results({.layers = {"4", "8", "12"}}), "", 2).size(), 1u);
}

TEST(Panels, JoinTheArmsAlongAnAxis) {
  const auto all =
      panels(sample_results({.peaks = {"0.001", "0.002", "0.004"}}), "schedule.peak", 12);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(names_of(all[0]), (Names{"pre_norm", "hybrid_norm", "post_norm"}));
  for (const auto& spec : all[0].curve_specs) EXPECT_EQ(spec.arms.size(), 3u);
}

TEST(Panels, KeepTheBaselineAmongTheBestAndTheWorst) {
  auto results = sample_results({.schemes = many_panels(20)});
  for (auto& seed_run : arm_of(results, "pre_norm").seed_runs)
    seed_run.value = 1.24;  // in the middle
  const auto panel = panels(results, "", 12).at(0);
  EXPECT_EQ(names_of(panel), (Names{"pre_norm", "kind 1", "kind 2", "kind 3", "kind 4", "kind 17",
                                    "kind 18", "kind 19"}));
}

TEST(Panels, KeepTheArmsOfTheClaims) {
  auto schemes = many_panels(20);
  schemes[9] = "hybrid_norm";
  schemes[12] = "post_norm";
  const auto panel = panels(sample_results({.schemes = schemes}), "", 12).at(0);
  EXPECT_EQ(names_of(panel), (Names{"pre_norm", "kind 1", "kind 2", "kind 3", "hybrid_norm",
                                    "post_norm", "kind 18", "kind 19"}));
  EXPECT_EQ(panel.note,
            "Of 20 curves: the baseline, those of claims, the 3 lowest and the 2 highest.");
}

TEST(Panels, KeepTheBaselineBeforeTheArmsOfTheClaims) {
  auto schemes = many_panels(20);
  std::swap(schemes[0], schemes[19]);  // the baseline is the last arm
  auto results = sample_results({.schemes = schemes});
  for (int i = 1; i <= 9; ++i) {
    results.study.claims.push_back({.of = {{"scheme", "kind " + std::to_string(i)}}});
  }
  const auto panel = panels(results, "", 12).at(0);
  EXPECT_EQ(names_of(panel).back(), "pre_norm");
  EXPECT_EQ(panel.curve_specs.size(), kMaxCurves);
  results.study.baseline.clear();
  EXPECT_EQ(panels(results, "", 12).at(0).note,
            "Of 20 curves: those of claims, the 0 lowest and the 0 highest.");
}

TEST(Panels, DropFailedArmsFirst) {
  auto results = sample_results({.schemes = many_panels(20)});
  for (auto& seed_run : arm_of(results, "kind 19").seed_runs) fail(seed_run, "diverged");
  EXPECT_EQ(names_of(panels(results, "", 12).at(0)).back(), "kind 18");
}

TEST(Panels, GiveEachCurveItsStyleAndEachSchemeItsColour) {
  for (const auto& panel : panels(sample_results({.layers = {"4", "8", "12"}}), "", 12)) {
    std::set<std::pair<int, int>> looks;
    for (const auto& spec : panel.curve_specs) looks.insert({spec.style.colour, spec.style.dash});
    EXPECT_EQ(looks.size(), panel.curve_specs.size());
    EXPECT_EQ(panel.curve_specs[1].style.colour, 1) << panel.where;
  }
  for (const auto& panel : panels(sample_results({.schemes = many_panels(91)}), "", 12)) {
    std::set<std::pair<int, int>> looks;
    for (const auto& spec : panel.curve_specs) looks.insert({spec.style.colour, spec.style.dash});
    EXPECT_EQ(looks.size(), panel.curve_specs.size());
  }
  std::set<std::pair<int, int>> looks;
  const auto one = panels(sample_results({.layers = {"4", "8"}}), "", 12).at(0);
  for (const auto& spec : one.curve_specs) looks.insert({spec.style.colour, spec.style.dash});
  EXPECT_EQ(looks.size(), 6u);
}

}  // namespace
}  // namespace evenkeel::study
