// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/study/report/axis_figures.h"
#include "evenkeel/study/report/figures.h"
#include "evenkeel/study/report/lead_figure.h"
#include "evenkeel/study/report/loss_figures.h"
#include "evenkeel/study/report/panels.h"
#include "evenkeel/study/report/profile_figures.h"
#include "evenkeel/study/report/sweep_figures.h"
#include "report/xml_check.h"
#include "study/sample_results.h"

// Figures name the runs that they do not draw.
namespace evenkeel::study {
namespace {

/// Whether the figures, which must be well-formed XML, contain this text.
::testing::AssertionResult figures_have(const std::string& figures, const std::string& piece) {
  EXPECT_EQ(report::xml_error("<!DOCTYPE html>" + figures), "");
  if (figures.find(piece) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not there: " << piece;
}

/// A run of this arm is not there, because it crashed or did not start.
void lose_run(Arm& arm, std::size_t seed, SeedRun::State state) {
  arm.seed_runs.at(seed) = {.state = state, .seed = arm.seed_runs.at(seed).seed};
}

TEST(LossFigures, NameRunsThatCrashedOrAreMissing) {
  auto results = sample_results();
  lose_run(arm_of(results, "pre_norm"), 2, SeedRun::State::crashed);
  lose_run(arm_of(results, "hybrid_norm"), 2, SeedRun::State::missing);
  const auto* const note =
      "Failed, not drawn: post_norm (1 of 3). Crashed, not drawn: pre_norm (1 of 3). Missing, not "
      "drawn: hybrid_norm (1 of 3).";
  EXPECT_TRUE(figures_have(loss_figures(results), note));
  results.study.loss_shares = {0.5, 1};
  EXPECT_TRUE(figures_have(lead_figure(results), note));
  lose_run(arm_of(results, "post_norm"), 1, SeedRun::State::crashed);
  EXPECT_TRUE(figures_have(loss_figures(results),
                           "Crashed, not drawn: pre_norm (1 of 3); post_norm (1 of 3)."));
}

TEST(AxisFigures, NameRunsThatCrashedOrAreMissing) {
  auto results = sample_results({.peaks = {"0.001", "0.002", "0.004"}});
  lose_run(arm_of(results, "pre_norm, peak 0.001"), 0, SeedRun::State::crashed);
  lose_run(arm_of(results, "pre_norm, peak 0.004"), 2, SeedRun::State::crashed);
  lose_run(arm_of(results, "post_norm, peak 0.002"), 1, SeedRun::State::missing);
  EXPECT_TRUE(
      figures_have(axis_figures(results),
                   "Crosses: post_norm failed at 0.004 (3 of 3). Crashed, not drawn: pre_norm at "
                   "0.001 (1 of 3); pre_norm at 0.004 (1 of 3). Missing, not drawn: post_norm at "
                   "0.002 (1 of 3)."));
}

// A seed of which one run crashed has no largest trainable value.
TEST(SweepFigures, NameSeedsWithACrashedRun) {
  auto results = sample_results(
      {.layers = {"4", "8"}, .peaks = {"0.001", "0.002", "0.004"}, .has_probes = false});
  results.study.claims.push_back({.says = "x",
                                  .of = {{"scheme", "hybrid_norm"}},
                                  .than = {{"scheme", "pre_norm"}},
                                  .measure = {.kind = Measure::Kind::sweep,
                                              .axis = "schedule.peak",
                                              .sweep = Measure::Sweep::max_trainable,
                                              .cap = 3}});
  for (auto& arm : results.arms) {
    if (arm.labels.at("scheme") != "hybrid_norm" || arm.labels.at("model.layers") != "8") continue;
    const bool is_first = arm.labels.at("schedule.peak") == "0.001";
    lose_run(arm, 1, is_first ? SeedRun::State::crashed : SeedRun::State::missing);
  }
  EXPECT_TRUE(
      figures_have(sweep_figures(results), "Crashed, not drawn: hybrid_norm at 8 (1 of 3)."));
}

// post_norm failed after the probe of step 200, which the figure draws.
TEST(ProfileFigures, NameRunsWithoutAProfile) {
  auto results = sample_results();
  lose_run(arm_of(results, "pre_norm"), 2, SeedRun::State::crashed);
  const auto drawn = profile_figures(results);
  EXPECT_TRUE(figures_have(drawn, "Crashed, not drawn: pre_norm (1 of 3)."));
  EXPECT_EQ(drawn.find("Failed, not drawn"), std::string::npos);
  arm_of(results, "post_norm").seed_runs.at(2).run.layer_maps.clear();
  EXPECT_TRUE(figures_have(profile_figures(results), "Failed, not drawn: post_norm (1 of 3)."));
}

TEST(ScalingFigure, NamesRunsWithoutAValue) {
  auto results = sample_results({.layers = {"4", "8"}, .has_probes = false});
  lose_run(arm_of(results, "pre_norm, layers 8"), 0, SeedRun::State::missing);
  lose_run(arm_of(results, "hybrid_norm, layers 4"), 1, SeedRun::State::crashed);
  ASSERT_FALSE(results.fits.empty());
  EXPECT_TRUE(figures_have(scaling_figure(results),
                           ". Crashed, not drawn: hybrid_norm, layers 4 (1 of 3). Missing, not "
                           "drawn: pre_norm, layers 8 (1 of 3)."));
}

/// Eleven arms, a 0 to a 10, of two runs each, which all crashed but those of a 1.
Results many_crashed_arms() {
  Results results;
  for (int i = 0; i <= 10; ++i) {
    const auto state = i == 1 ? SeedRun::State::finished : SeedRun::State::crashed;
    Arm arm;
    arm.name = text("a ", i);
    arm.seed_runs = {{.state = state, .seed = 1}, {.state = state, .seed = 2}};
    results.arms.push_back(std::move(arm));
  }
  return results;
}

TEST(UnfinishedRunsNote, NamesEightArmsAndCountsTheRest) {
  auto results = many_crashed_arms();
  const auto note = [&] {
    std::vector<NamedArm> arms;
    for (const auto& arm : results.arms) arms.push_back({arm.name, &arm});
    return unfinished_runs_note(arms);
  };
  const std::string eight =
      " Crashed, not drawn: a 0 (2 of 2); a 2 (2 of 2); a 3 (2 of 2); a 4 (2 of 2); a 5 (2 of 2); "
      "a 6 (2 of 2); a 7 (2 of 2); a 8 (2 of 2)";
  EXPECT_EQ(note(), eight + "; and 2 more.");
  results.arms.resize(9);
  EXPECT_EQ(note(), eight + ".");
  results.arms.resize(2);
  EXPECT_EQ(note(), " Crashed, not drawn: a 0 (2 of 2).");
  results.arms.erase(results.arms.begin());
  EXPECT_EQ(note(), "");
}

TEST(UnfinishedRunsNote, OfEachStateHasItsOwnLimit) {
  auto results = many_crashed_arms();
  CurveSpec spec;
  for (std::size_t at = 0; at < results.arms.size(); ++at) spec.arms.push_back(at);
  const Panel panel{.curve_specs = {spec}};
  for (auto& run : results.arms[10].seed_runs) run.state = SeedRun::State::missing;
  const auto note = unfinished_runs_note(results, panel);
  EXPECT_TRUE(note.ends_with("a 8 (2 of 2); and 1 more. Missing, not drawn: a 10 (2 of 2)."))
      << note;
}

// post_norm fails at each of nine rates.
TEST(AxisFigures, NameEightCrossesAndCountTheRest) {
  auto results = sample_results({.peaks = {"1", "2", "3", "4", "5", "6", "7", "8", "9"}});
  const auto drawn = axis_figures(results);
  EXPECT_TRUE(
      figures_have(drawn, "Crosses: post_norm failed at 1 (3 of 3); post_norm failed at 2"));
  EXPECT_TRUE(figures_have(drawn, "post_norm failed at 8 (3 of 3); and 1 more."));
}

}  // namespace
}  // namespace evenkeel::study
