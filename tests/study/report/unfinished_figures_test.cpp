// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "evenkeel/study/report/axis_figures.h"
#include "evenkeel/study/report/figures.h"
#include "evenkeel/study/report/lead_figure.h"
#include "evenkeel/study/report/loss_figures.h"
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
      "Failed, not drawn: post_norm 1 of 3. Crashed, not drawn: pre_norm 1 of 3. Missing, not "
      "drawn: hybrid_norm 1 of 3.";
  EXPECT_TRUE(figures_have(loss_figures(results), note));
  results.study.loss_shares = {0.5, 1};
  EXPECT_TRUE(figures_have(lead_figure(results), note));
  lose_run(arm_of(results, "post_norm"), 1, SeedRun::State::crashed);
  EXPECT_TRUE(figures_have(loss_figures(results),
                           "Crashed, not drawn: pre_norm 1 of 3; post_norm 1 of 3."));
}

TEST(AxisFigures, NameRunsThatCrashedOrAreMissing) {
  auto results = sample_results({.peaks = {"0.001", "0.002", "0.004"}});
  lose_run(arm_of(results, "pre_norm, peak 0.001"), 0, SeedRun::State::crashed);
  lose_run(arm_of(results, "pre_norm, peak 0.004"), 2, SeedRun::State::crashed);
  lose_run(arm_of(results, "post_norm, peak 0.002"), 1, SeedRun::State::missing);
  EXPECT_TRUE(figures_have(
      axis_figures(results),
      "Crosses: post_norm failed at 0.004 (3 of 3). Not drawn: pre_norm crashed at 0.001 (1 of 3), "
      "0.004 (1 of 3); post_norm is missing at 0.002 (1 of 3)."));
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
      figures_have(sweep_figures(results), "Not drawn: hybrid_norm crashed at 8 (1 of 3)."));
}

// post_norm failed after the probe of step 200, which the figure draws.
TEST(ProfileFigures, NameRunsWithoutAProfile) {
  auto results = sample_results();
  lose_run(arm_of(results, "pre_norm"), 2, SeedRun::State::crashed);
  const auto drawn = profile_figures(results);
  EXPECT_TRUE(figures_have(drawn, "Crashed, not drawn: pre_norm 1 of 3."));
  EXPECT_EQ(drawn.find("Failed, not drawn"), std::string::npos);
  arm_of(results, "post_norm").seed_runs.at(2).run.layer_maps.clear();
  EXPECT_TRUE(figures_have(profile_figures(results), "Failed, not drawn: post_norm 1 of 3."));
}

TEST(ScalingFigure, NamesRunsWithoutAValue) {
  auto results = sample_results({.layers = {"4", "8"}, .has_probes = false});
  lose_run(arm_of(results, "pre_norm, layers 8"), 0, SeedRun::State::missing);
  lose_run(arm_of(results, "hybrid_norm, layers 4"), 1, SeedRun::State::crashed);
  ASSERT_FALSE(results.fits.empty());
  EXPECT_TRUE(figures_have(scaling_figure(results),
                           ". Crashed, not drawn: hybrid_norm, layers 4 1 of 3. Missing, not "
                           "drawn: pre_norm, layers 8 1 of 3."));
}

}  // namespace
}  // namespace evenkeel::study
