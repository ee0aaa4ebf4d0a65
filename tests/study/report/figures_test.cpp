// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/study/report/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/svg_file.h"
#include "evenkeel/study/analysis/claim_analysis.h"
#include "evenkeel/study/analysis/measure.h"
#include "evenkeel/study/report/axis_figures.h"
#include "evenkeel/study/report/forest_plot.h"
#include "evenkeel/study/report/lead_figure.h"
#include "evenkeel/study/report/loss_figures.h"
#include "evenkeel/study/report/profile_figures.h"
#include "evenkeel/study/report/sweep_figures.h"
#include "report/xml_check.h"
#include "study/sample_results.h"

namespace evenkeel::study {
namespace {

using report::element_contents;
using Words = std::vector<std::string>;

bool has(const std::string& all, const std::string& piece) {
  return all.find(piece) != std::string::npos;
}

std::size_t count_of(const std::string& all, const std::string& piece) {
  std::size_t count = 0;
  for (auto at = all.find(piece); at != std::string::npos; at = all.find(piece, at + 1)) ++count;
  return count;
}

/// The figures, which must be well-formed XML without NaN coordinates.
std::string checked(const std::string& figures) {
  EXPECT_EQ(report::xml_error("<!DOCTYPE html>" + figures), "");
  for (const char* bad : {"nan", "inf", "–\""}) EXPECT_FALSE(has(figures, bad)) << bad;
  return figures;
}

Words titles_of(const std::string& figures) {
  return element_contents(figures, "<strong>");
}

std::vector<std::string> many(std::size_t count) {
  std::vector<std::string> schemes = {"pre_norm"};
  while (schemes.size() < count) schemes.push_back("kind " + std::to_string(schemes.size()));
  return schemes;
}

TEST(LossFigures, HaveABandForEachArmOfSeveralSeeds) {
  const auto drawn = checked(loss_figures(sample_results()));
  EXPECT_EQ(titles_of(drawn), (Words{"Validation loss", "Validation loss, second half"}));
  EXPECT_EQ(count_of(drawn, "class=\"band"), 6u);  // 3 arms in 2 figures
  EXPECT_TRUE(has(drawn,
                  "Means over 2 to 3 seeds, with bands from the least to the largest. "
                  "Failed, not drawn: post_norm (1 of 3)."));
}

TEST(LeadFigure, HasALineForEachArmButTheBaseline) {
  auto results = sample_results();
  EXPECT_EQ(lead_figure(results), "");  // without shares
  results.study.loss_shares = {0.25, 0.5, 1};
  const auto drawn = checked(lead_figure(results));
  EXPECT_EQ(titles_of(drawn), Words{"Difference to the baseline over training"});
  EXPECT_EQ(element_contents(drawn, "<li>").size(), 2u);
  EXPECT_TRUE(has(
      drawn, "Means with 95 % intervals, paired by seed. Failed, not drawn: post_norm (1 of 3)."));
  results.study.baseline.clear();
  EXPECT_EQ(lead_figure(results), "");
}

TEST(LeadFigure, NamesNoSingleBaselineOfSeveral) {
  auto results = sample_results({.layers = {"4", "8"}, .seeds = {1, 2}});
  results.study.loss_shares = {0.5, 1};
  const auto drawn = checked(lead_figure(results));
  EXPECT_TRUE(has(drawn, "its baseline"));
  EXPECT_EQ(element_contents(drawn, "<li>").size(), 4u);
}

TEST(LeadFigure, IsAbsentWhereAFileDoesNotHaveTheLosses) {
  auto results = sample_results();
  results.study.loss_shares = {0.5, 1};
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) seed_run.recorded = {{"training loss", 1.0}};
  }
  EXPECT_EQ(lead_figure(results), "");
}

// Of runs.csv: hybrid_norm is 0.5 lower, then 0.25 higher.
TEST(LeadFigure, IsOfRecordedRunsToo) {
  auto results = sample_results({.schemes = {"pre_norm", "hybrid_norm"}, .seeds = {1, 2}});
  results.study.loss_shares = {0.5, 1};
  for (auto& arm : results.arms) {
    const bool is_hybrid = arm.name == "hybrid_norm";
    for (auto& seed_run : arm.seed_runs) {
      const auto seed = static_cast<double>(seed_run.seed);
      seed_run.recorded = {{loss_after(0.5).name(), seed + (is_hybrid ? 1.5 : 2)},
                           {loss_after(1).name(), seed + (is_hybrid ? 1.25 : 1)}};
    }
  }
  const auto drawn = checked(lead_figure(results));
  EXPECT_TRUE(has(drawn, "hybrid_norm, % of the steps 50: -0.5 [-0.5, -0.5]"));
  EXPECT_TRUE(has(drawn, "hybrid_norm, % of the steps 100: 0.25 [0.25, 0.25]"));
}

TEST(LossFigures, HaveNoBandForOneSeed) {
  const auto drawn = checked(loss_figures(sample_results({.seeds = {1}})));
  EXPECT_EQ(count_of(drawn, "class=\"band"), 0u);
  EXPECT_EQ(count_of(drawn, "class=\"line"), 9u);  // 3 arms in 2 figures, and a legend
  EXPECT_TRUE(has(drawn, "One run each: no band."));
}

TEST(LossFigures, FallBackToTheTrainingLossWhereRunsWereHardlyValidated) {
  auto results = sample_results();
  auto& series = results.arms[0].seed_runs[0].run.validation_loss;
  series = {{0, 200}, {4, 1.2}};
  const auto drawn = checked(loss_figures(results));
  EXPECT_EQ(titles_of(drawn).front(), "Training loss");
  EXPECT_TRUE(has(drawn, "Moving means."));
}

TEST(LossFigures, ShowTheBaselineTheBestAndTheWorstOfMany) {
  const auto drawn = checked(loss_figures(sample_results({.schemes = many(20)})));
  EXPECT_EQ(element_contents(drawn, "<li>").size(), 8u);
  EXPECT_TRUE(has(drawn, "Of 20 curves: the baseline, the 4 lowest and the 3 highest."));
  for (const char* name : {"pre_norm", "kind 1", "kind 3", "kind 17", "kind 19"}) {
    EXPECT_TRUE(has(drawn, "</svg>" + std::string(name) + "</li>")) << name;
  }
}

TEST(LossFigures, HaveAChartForEachValueOfTheOtherAxes) {
  const auto drawn =
      checked(loss_figures(sample_results({.layers = {"4", "8", "12"}, .seeds = {1, 2}})));
  const auto titles = titles_of(drawn);
  ASSERT_EQ(titles.size(), 6u);
  EXPECT_EQ(titles[0], "Validation loss, layers 4");
  EXPECT_EQ(titles[5], "Validation loss, layers 12, second half");
}

TEST(LossFigures, ShowNothingFiniteAsEmpty) {
  auto results = sample_results();
  for (auto& arm : results.arms) {
    for (auto& seed_run : arm.seed_runs) fail(seed_run, "diverged");
  }
  EXPECT_TRUE(has(checked(loss_figures(results)), "No run is finished."));
}

TEST(AxisFigures, DrawTheLearningRateBasinOnALogarithmicAxisWithItsOwnLabels) {
  const auto drawn =
      checked(axis_figures(sample_results({.peaks = {"5e-4", "0.001", "0.002", "0.004"}})));
  EXPECT_EQ(titles_of(drawn), (Words{"Validation loss against schedule.peak"}));
  const auto labels = element_contents(drawn, "<text class=\"middle\" ");
  for (const char* label : {">5e-4</text>", ">0.001</text>", ">0.002</text>", ">0.004</text>"}) {
    EXPECT_TRUE(has(drawn, label)) << label;
  }
  EXPECT_EQ(count_of(drawn, "class=\"bar"), 3u);
  EXPECT_TRUE(has(drawn, "hybrid_norm, schedule.peak 5e-4: "));
}

/// Where the first points of the figure stand.
std::vector<double> places_of(const std::string& figure, std::size_t count) {
  std::vector<double> out;
  auto at = figure.find("<circle");
  for (; at != std::string::npos && out.size() < count; at = figure.find("<circle", at + 1)) {
    out.push_back(std::stod(figure.substr(figure.find("cx=\"", at) + 4)));
  }
  return out;
}

TEST(AxisFigures, AreLogarithmicForPeaksAndWhereValuesSpanAFactorOfEight) {
  constexpr double kRounding = 0.11;
  const auto bend_of = [](const SampleOptions& options) {
    const auto x = places_of(axis_figures(sample_results(options)), 3);
    return (x.at(2) - x.at(1)) - (x.at(1) - x.at(0));
  };
  EXPECT_NEAR(bend_of({.peaks = {"0.001", "0.002", "0.004"}}), 0, kRounding);
  EXPECT_NEAR(bend_of({.layers = {"1", "3", "9"}, .has_probes = false}), 0, kRounding);
  EXPECT_NEAR(bend_of({.layers = {"2", "4", "6"}, .has_probes = false}), 0, kRounding);
  EXPECT_GT(bend_of({.layers = {"2", "4", "8"}, .has_probes = false}), 10);  // spans a factor of 4
}

TEST(AxisFigures, CrossOutWhereRunsFailed) {
  const auto drawn = checked(axis_figures(sample_results({.peaks = {"0.001", "0.002", "0.004"}})));
  EXPECT_EQ(count_of(drawn, "class=\"cross"), 1u);
  EXPECT_TRUE(has(drawn, "<title>post_norm, peak 0.004: failed 3 of 3</title>"));
  EXPECT_TRUE(has(drawn, "Crosses: post_norm failed at 0.004 (3 of 3)."));
}

// The legend must have its colour, also if the arm has no curve.
TEST(AxisFigures, NameInTheLegendWhatFailedEverywhere) {
  const auto drawn = checked(axis_figures(sample_results({.peaks = {"0.004", "0.008"}})));
  EXPECT_TRUE(has(drawn, "</svg>post_norm</li>"));
  EXPECT_TRUE(
      has(drawn, "post_norm failed at 0.004 (3 of 3); post_norm failed at 0.008 (3 of 3)."));
}

TEST(AxisFigures, SayThatOneSeedHasNoIntervals) {
  const auto drawn = checked(
      axis_figures(sample_results({.layers = {"2", "4"}, .seeds = {1}, .has_probes = false})));
  EXPECT_EQ(count_of(drawn, "class=\"bar"), 0u);
  EXPECT_TRUE(has(drawn, "One run each: no intervals."));
}

TEST(AxisFigures, LeaveOutAxesOfWords) {
  EXPECT_EQ(axis_figures(sample_results()), "");
}

TEST(SweepFigures, AreOfEachMeasureOverAnAxisAgainstTheOther) {
  auto results = sample_results(
      {.layers = {"4", "8"}, .peaks = {"0.001", "0.002", "0.004"}, .has_probes = false});
  EXPECT_EQ(sweep_figures(results), "");  // no claim is about one
  for (const auto sweep :
       {Measure::Sweep::best, Measure::Sweep::max_trainable, Measure::Sweep::best}) {
    results.study.claims.push_back(
        {.says = "x",
         .of = {{"scheme", "hybrid_norm"}},
         .than = {{"scheme", "pre_norm"}},
         .measure = {
             .kind = Measure::Kind::sweep, .axis = "schedule.peak", .sweep = sweep, .cap = 3}});
  }
  const auto drawn = checked(sweep_figures(results));
  EXPECT_EQ(titles_of(drawn), (Words{"Loss at its best schedule.peak against model.layers",
                                     "Largest trainable schedule.peak against model.layers"}));
  EXPECT_TRUE(has(drawn, "hybrid_norm, model.layers 8: 0.004"));
  EXPECT_TRUE(has(drawn, "post_norm, model.layers 8: 0.002"));
  EXPECT_EQ(sweep_figures(sample_results({.peaks = {"0.001", "0.002"}})), "");
}

TEST(ProfileFigures, ShowGradientFlowAndItsHeatMaps) {
  const auto drawn = checked(profile_figures(sample_results()));
  EXPECT_EQ(titles_of(drawn), (Words{"Gradient flow, step 1", "Gradient flow, step 200",
                                     "Attention entropy, step 200", "Token similarity, step 200",
                                     "Gradient flow, pre_norm", "Gradient flow, hybrid_norm",
                                     "Gradient flow, post_norm"}));
  EXPECT_TRUE(has(drawn, "Geometric means over 3 seeds"));
  EXPECT_TRUE(has(drawn, "gradient norm of a block, seed 1"));
}

// --figures: on the page the first figure of a panel has the legend of all.
TEST(Figures, HaveALegendInEachFile) {
  const auto files = report::svg_files(figures(sample_results()));
  std::size_t curves = 0;
  for (const auto& [name, svg] : files) {
    if (!has(svg, "class=\"line c0")) continue;
    ++curves;
    for (const char* arm : {"pre_norm", "hybrid_norm", "post_norm"}) {
      EXPECT_EQ(count_of(svg, text("\">", arm, "</text>")), 1U) << name;
    }
  }
  EXPECT_EQ(curves, 6U);  // losses, their second half, and four profiles
}

TEST(ProfileFigures, ShowTheStepsThatTheStudyMeasuresAt) {
  auto results = sample_results();
  const Measure at_50{
      .kind = Measure::Kind::probe, .probe = "grad_norm", .part = "block", .step = 50};
  results.study.measure = at_50;
  results.study.claims.push_back({.measure = at_50});
  results.study.claims.back().measure.step = 77;  // of which nothing is known
  const auto titles = titles_of(checked(profile_figures(results)));
  EXPECT_EQ((Words{titles.begin(), titles.begin() + 4}),
            (Words{"Gradient flow, step 1", "Gradient flow, step 50", "Gradient flow, step 200",
                   "Attention entropy, step 200"}));
}

TEST(ProfileFigures, AreNotThereWithoutProbes) {
  EXPECT_EQ(profile_figures(sample_results({.has_probes = false})), "");
}

TEST(ScalingFigure, HasPointsAndALineForEachFit) {
  auto results = sample_results();
  results.fits = {{"pre_norm", {1e5, 1e6, 1e7}, {2, 1.6, 1.28}, {}}};
  results.fits[0].law = power_law(results.fits[0].sizes, results.fits[0].values);
  const auto drawn = checked(scaling_figure(results));
  EXPECT_EQ(count_of(drawn, "<circle"), 3u);
  EXPECT_EQ(count_of(drawn, "class=\"line"), 1u);  // a single one needs no legend
  // ln(2 / 1.6) / ln(10) = 0.0969 from each size to the next
  EXPECT_TRUE(has(drawn, "N^-0.09691, 95 % interval of the exponent ["));
  EXPECT_TRUE(has(drawn, "parameters 100k: 2"));
  for (const char* label : {">100k</text>", ">1M</text>", ">10M</text>"}) {
    EXPECT_TRUE(has(drawn, label)) << label;
  }
  EXPECT_EQ(scaling_figure(sample_results()), "");
}

TEST(ScalingFigure, SaysThatTwoSizesGiveNoInterval) {
  auto results = sample_results();
  results.fits = {{"pre_norm", {1e5, 1e6}, {2, 1.6}, {}}};
  results.fits[0].law = power_law(results.fits[0].sizes, results.fits[0].values);
  EXPECT_TRUE(has(checked(scaling_figure(results)), "two sizes only: no interval"));
}

TEST(ForestPlot, HasARowForEachArmButTheBaseline) {
  const auto drawn = checked(forest_plot(sample_results()));
  EXPECT_EQ(titles_of(drawn), (Words{"Difference to the baseline"}));
  EXPECT_TRUE(has(drawn, ">hybrid_norm</text>"));
  EXPECT_TRUE(has(drawn, ">post_norm</text>"));
  EXPECT_FALSE(has(drawn, ">pre_norm</text>"));
  EXPECT_EQ(forest_plot(sample_results({.has_baseline = false})), "");
}

TEST(ForestPlot, NamesArmsWithoutADifference) {
  auto results = sample_results();
  for (auto& seed_run : arm_of(results, "post_norm").seed_runs) fail(seed_run, "diverged");
  analyze_claims(results);
  EXPECT_TRUE(has(checked(forest_plot(results)), ">finished 0 of 3; 3 failed</text>"));
}

TEST(ForestPlot, FitsPrintedPagesWithAHundredArms) {
  const auto drawn = checked(forest_plot(sample_results({.schemes = many(101)})));
  EXPECT_EQ(titles_of(drawn),
            (Words{"Difference to the baseline, 1 of 3", "Difference to the baseline, 2 of 3",
                   "Difference to the baseline, 3 of 3"}));
  EXPECT_EQ(count_of(drawn, "class=\"name\""), 100u);
}

TEST(ForestPlot, KeepsAnOutlierFromFlatteningTheRest) {
  auto results = sample_results({.schemes = many(6)});
  results.baseline_verdicts.back().difference = PairedDifference{3, 50, 1, {45, 55}, 0.001, 50};
  const auto drawn = checked(forest_plot(results));
  EXPECT_FALSE(has(drawn, ">50</text>"));  // no tick
  EXPECT_TRUE(has(drawn, ">+50.0000 [+45.0000, +55.0000]</text>"));
}

}  // namespace
}  // namespace evenkeel::study
