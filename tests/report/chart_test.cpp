// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/page_check.h"

namespace evenkeel::report {
namespace {

Chart chart_of(const Series& series) {
  Chart chart{"Loss", "nats a token"};
  chart.lines = {{"training", series}};
  chart.when_empty = "nothing <here>";
  return chart;
}

std::string fault_of_figure(const std::string& figure) {
  return fault_of("<!DOCTYPE html>" + figure);
}

/// The d="..." of the curves.
std::string path_of(const std::string& figure) {
  const std::string start = "<path class=\"line c0 d0\" d=\"";
  const auto begin = figure.find(start) + start.size();
  return figure.substr(begin, figure.find('"', begin) - begin);
}

TEST(Figure, IsWellFormedAndSaysWhatItShows) {
  const auto drawn = figure(chart_of({{0, 10, 20}, {5, 2, 1}}));
  EXPECT_EQ(fault_of_figure(drawn), "");
  EXPECT_EQ(contents(drawn, "<strong>"), (std::vector<std::string>{"Loss"}));
  EXPECT_NE(drawn.find("aria-label=\"Loss\""), std::string::npos);
}

TEST(Figure, BreaksTheCurveAtAGapAndDotsALonePoint) {
  const auto path = path_of(figure(chart_of({{0, 1, 2, 3, 4}, {1, 2, std::nan(""), 3, INFINITY}})));
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 1);
  EXPECT_EQ(path.substr(path.size() - 2), "h0");
  EXPECT_EQ(path.find("nan"), std::string::npos);
}

TEST(Figure, LabelsItsReferenceLineInsideTheFrame) {
  auto chart = chart_of({{0, 10}, {5, 2}});
  chart.reference = {1.25, "entropy floor 1.25"};
  const auto drawn = figure(chart);
  EXPECT_NE(drawn.find("class=\"reference\""), std::string::npos);
  EXPECT_NE(drawn.find(">entropy floor 1.25</text>"), std::string::npos);
}

TEST(Figure, SaysWhyItIsEmpty) {
  for (const auto& none : {Series{}, Series{{0, 1}, {std::nan(""), std::nan("")}}}) {
    const auto drawn = figure(chart_of(none));
    EXPECT_EQ(drawn.find("<svg"), std::string::npos);
    EXPECT_EQ(contents(drawn, "<p class=\"missing\">"),
              (std::vector<std::string>{"nothing &lt;here&gt;"}));
  }
}

TEST(Figure, LeavesOutWhatALogarithmCannotShow) {
  auto chart = chart_of({{0, 1, 2, 3}, {10, -1, 0, 0.1}});
  chart.scale = Scale::logarithmic;
  const auto path = path_of(figure(chart));
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 2);
  EXPECT_EQ(path.find("nan"), std::string::npos);
  EXPECT_EQ(path.find("inf"), std::string::npos);
}

TEST(Figure, MarksFewPointsWithTheirValues) {
  auto chart = chart_of({{0, 1000}, {5, 2.5}});
  chart.lines[0].stroke = Stroke::dotted;
  EXPECT_EQ(contents(figure(chart), "<title>"),
            (std::vector<std::string>{"training, step 0: 5.0000", "training, step 1,000: 2.5000"}));
}

TEST(Figure, HasALegendForSeveralLinesOnly) {
  auto chart = chart_of({{0, 1}, {5, 2}});
  EXPECT_EQ(figure(chart).find("<ul"), std::string::npos);
  chart.lines.push_back({"a & b", {{0, 1}, {4, 1}}, 1, 2});
  EXPECT_NE(figure(chart).find("a &amp; b</li>"), std::string::npos);
  chart.has_legend = false;
  EXPECT_EQ(figure(chart).find("<ul"), std::string::npos);
}

TEST(Figure, DoesNotGrowWithTheRun) {
  Series series;
  for (int step = 0; step < 100000; ++step) series.add(step, std::sin(step) + 2);
  EXPECT_LT(figure(chart_of(series)).size(), 12000u);  // 2 * 190 points of 12 characters, and axes
}

TEST(Figure, ShowsARunOfOnePoint) {
  EXPECT_EQ(fault_of_figure(figure(chart_of({{10}, {5}}))), "");
}

TEST(Swatch, RepeatsNoColourAndPatternWithinFortyTwoRuns) {
  std::vector<std::string> seen;
  for (int run = 0; run < kColours * kDashes; ++run) {
    const auto drawn = swatch(run, run);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), drawn), 0) << run;
    seen.push_back(drawn);
  }
  EXPECT_EQ(swatch(0, 0), swatch(42, 42));
}

}  // namespace
}  // namespace evenkeel::report
