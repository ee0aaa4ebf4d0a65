// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

Chart chart_of(const Series& series) {
  Chart chart{"Loss", "nats per token"};
  chart.lines = {{"training", series}};
  chart.when_empty = "nothing <here>";
  return chart;
}

std::string xml_error_of_figure(const std::string& figure) {
  return xml_error("<!DOCTYPE html>" + figure);
}

/// The d="..." of the curves.
std::string path_of(const std::string& figure) {
  const std::string start = "<path class=\"line c0 d0\" d=\"";
  const auto begin = figure.find(start) + start.size();
  return figure.substr(begin, figure.find('"', begin) - begin);
}

TEST(Figure, IsWellFormedAndSaysWhatItShows) {
  const auto drawn = figure(chart_of({{0, 10, 20}, {5, 2, 1}}));
  EXPECT_EQ(xml_error_of_figure(drawn), "");
  EXPECT_EQ(element_contents(drawn, "<strong>"), (std::vector<std::string>{"Loss"}));
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
    EXPECT_EQ(element_contents(drawn, "<p class=\"missing\">"),
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
  EXPECT_EQ(element_contents(figure(chart), "<title>"),
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
  EXPECT_EQ(xml_error_of_figure(figure(chart_of({{10}, {5}}))), "");
}

/// The numbers of an attribute of all elements that begin so, in their order.
std::vector<double> numbers_of(const std::string& figure, const std::string& start,
                               const std::string& attribute) {
  std::vector<double> out;
  for (auto at = figure.find(start); at != std::string::npos; at = figure.find(start, at + 1)) {
    const auto begin = figure.find(attribute + "=\"", at) + attribute.size() + 2;
    out.push_back(std::stod(figure.substr(begin)));
  }
  return out;
}

/// The d="..." of the first path of a class.
std::string path_of_class(const std::string& figure, const std::string& name) {
  const auto at = figure.find("<path class=\"" + name);
  if (at == std::string::npos) return {};
  const auto begin = figure.find("d=\"", at) + 3;
  return figure.substr(begin, figure.find('"', begin) - begin);
}

/// The points of a path of M and L.
Series points_of(const std::string& path) {
  Series points;
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (path[at] != 'M' && path[at] != 'L') continue;
    const auto space = path.find(' ', at);
    points.add(std::stod(path.substr(at + 1)), std::stod(path.substr(space + 1)));
  }
  return points;
}

TEST(Band, GoesThereAlongTheLargestAndBackAlongTheLeast) {
  auto chart = chart_of({{0, 10, 20}, {5, 4, 3}});
  chart.lines[0].bounds = {{4.5, 3.5, 2.5}, {6, 5, 4}};
  const auto drawn = figure(chart);
  EXPECT_EQ(xml_error_of_figure(drawn), "");
  const auto path = path_of_class(drawn, "band c0");
  const auto corners = points_of(path);
  ASSERT_EQ(corners.size(), 6u);
  EXPECT_EQ(path.back(), 'Z');
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_EQ(corners.x[at], corners.x[5 - at]);
    EXPECT_LT(corners.y[at], corners.y[5 - at]);  // downwards
  }
}

TEST(Band, BreaksAtAGap) {
  auto chart = chart_of({{0, 1, 2, 3, 4}, {5, 5, std::nan(""), 5, 5}});
  chart.lines[0].bounds = {{4, 4, 4, 4, 4}, {6, 6, 6, std::nan(""), 6}};
  const auto path = path_of_class(figure(chart), "band c0");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'Z'), 2);
  EXPECT_EQ(path.find("nan"), std::string::npos);
}

TEST(Band, HoldsItsLineHoweverThinnedTheyAre) {
  auto chart = chart_of({});
  auto& points = chart.lines[0].points;
  auto& bounds = chart.lines[0].bounds;
  for (int step = 0; step < 20000; ++step) {
    points.add(step, 2 + std::sin(step * 0.37));
    bounds.low.push_back(points.y.back() - 0.01 * (1 + std::sin(step * 1.7)));
    bounds.high.push_back(points.y.back() + 0.01 * (1 + std::cos(step * 2.3)));
  }
  const auto drawn = figure(chart);
  const auto line = points_of(path_of(drawn)), corners = points_of(path_of_class(drawn, "band c0"));
  ASSERT_EQ(corners.size(), 2 * line.size());
  EXPECT_LT(line.size(), 2000u);
  constexpr double kRounding = 0.11;  // of coordinates with one decimal
  for (std::size_t at = 0; at < line.size(); ++at) {
    EXPECT_EQ(corners.x[at], line.x[at]);
    EXPECT_LE(corners.y[at], line.y[at] + kRounding);
    EXPECT_GE(corners.y[corners.size() - 1 - at], line.y[at] - kRounding);
  }
}

/// A basin of learning rates.
Chart basin() {
  auto chart = chart_of({{0.001, 0.002, 0.004}, {3, 1, 2}});
  chart.lines[0].stroke = Stroke::dotted;
  chart.x_label = "schedule.peak";
  chart.logarithmic_x = true;
  return chart;
}

TEST(LogarithmicX, PutsEqualRatiosAtEqualDistances) {
  const auto x = numbers_of(figure(basin()), "<circle", "cx");
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], 0.11);
  EXPECT_GT(x[1] - x[0], 100);
}

TEST(LogarithmicX, LabelsRatesAsTheyAre) {
  auto chart = basin();
  const auto drawn = figure(chart);
  for (const char* label : {">0.001</text>", ">0.002</text>", ">schedule.peak</text>"}) {
    EXPECT_NE(drawn.find(label), std::string::npos) << label;
  }
  EXPECT_EQ(element_contents(drawn, "<title>")[1], "training, schedule.peak 0.002: 1.0000");
  chart.x_ticks = {{0.001, "1e-3"}, {0.004, "4e-3"}};
  const auto labelled = figure(chart);
  EXPECT_NE(labelled.find(">4e-3</text>"), std::string::npos);
  EXPECT_EQ(labelled.find(">0.002</text>"), std::string::npos);
  EXPECT_EQ(element_contents(labelled, "<title>")[2], "training, schedule.peak 4e-3: 2.0000");
}

TEST(LogarithmicX, LeavesOutLabelsWithoutRoom) {
  auto chart = basin();
  for (int i = 0; i < 40; ++i) {
    chart.x_ticks.push_back({0.001 + i * 0.00001, "0.001" + std::to_string(10 + i)});
  }
  const auto drawn = figure(chart);
  EXPECT_LT(element_contents(drawn, "<text class=\"middle\"").size(), 6u);
}

TEST(LogarithmicX, LeavesOutWhatALogarithmCannotShow) {
  auto chart = basin();
  chart.lines[0].points = {{0, 0.001, 0.002}, {3, 2, 1}};
  const auto drawn = figure(chart);
  EXPECT_EQ(numbers_of(drawn, "<circle", "cx").size(), 2u);
  EXPECT_EQ(drawn.find("inf"), std::string::npos);
}

TEST(Bars, ReachFromLowToHighAndSaySo) {
  auto chart = basin();
  chart.lines[0].bounds = {
      {2.5, std::nan(""), 1.5}, {3.5, std::nan(""), 2.5}, ErrorBounds::As::bars};
  const auto drawn = figure(chart);
  EXPECT_EQ(xml_error_of_figure(drawn), "");
  const auto path = path_of_class(drawn, "bar c0");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'V'), 2);  // one seed has no interval
  EXPECT_EQ(std::count(path.begin(), path.end(), 'h'), 4);
  const auto titles = element_contents(drawn, "<title>");
  EXPECT_EQ(titles[0], "training, schedule.peak 0.001: 3 [2.5, 3.5]");
  EXPECT_EQ(titles[1], "training, schedule.peak 0.002: 1.0000");
}

TEST(Bars, DoNotFlattenTheRestAndHaveNoEndOutsideTheFrame) {
  auto chart = basin();
  chart.lines[0].bounds = {{-100, 0.9, 1.9}, {106, 1.1, 2.1}, ErrorBounds::As::bars};
  const auto drawn = figure(chart);
  const auto path = path_of_class(drawn, "bar c0");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'V'), 3);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'h'), 4);
  const auto y = numbers_of(drawn, "<circle", "cy");
  EXPECT_GT(y[1] - y[0], 40);  // a third of the frame's height at least lies between the points
}

TEST(Bars, StandBesideEachOther) {
  auto chart = basin();
  chart.lines.push_back(chart.lines[0]);
  chart.lines[1].shift = 3;
  const auto x = numbers_of(figure(chart), "<circle", "cx");
  EXPECT_NEAR(x[3] - x[0], 3, 0.11);
}

TEST(Crosses, StandAtTheUpperEdgeSideBySide) {
  auto chart = basin();
  chart.crosses = {{0.008, 0, "a failed"}, {0.008, 1, "b < c"}};
  const auto drawn = figure(chart);
  EXPECT_EQ(xml_error_of_figure(drawn), "");
  const auto first = points_of(path_of_class(drawn, "cross c0")),
             second = points_of(path_of_class(drawn, "cross c1"));
  EXPECT_EQ(first.y, second.y);
  EXPECT_GE(second.x[0], first.x[1]);  // they do not overlap
  EXPECT_LT(second.x[1], 400);         // the axis reaches up to them
  for (const double y : numbers_of(drawn, "<circle", "cy")) EXPECT_GT(y, first.y[1]);
  EXPECT_NE(drawn.find("<title>b &lt; c</title>"), std::string::npos);
}

TEST(Points, HaveNoLineAndNoLegend) {
  auto chart = chart_of({{1, 2}, {3, 4}});
  chart.lines[0].stroke = Stroke::points;
  chart.lines[0].name = "";
  chart.lines.push_back({"law", {{1, 2}, {3, 4}}, 1});
  chart.lines.push_back({"other law", {{1, 2}, {4, 5}}, 2});
  const auto drawn = figure(chart);
  EXPECT_EQ(path_of_class(drawn, "line c0"), "");
  EXPECT_EQ(numbers_of(drawn, "<circle", "cx").size(), 2u);
  EXPECT_EQ(element_contents(drawn, "<li>").size(), 2u);
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
