// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/svg_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "evenkeel/report/chart.h"
#include "evenkeel/report/heat_map.h"
#include "evenkeel/report/row_figure.h"
#include "evenkeel/report/style_sheet.h"
#include "report/xml_check.h"

namespace evenkeel::report {
namespace {

std::string xml_error_of_svg(const std::string& svg) {
  return xml_error("<!DOCTYPE html>" + svg.substr(svg.find("<svg")));
}

std::string two_curves(const std::string& title) {
  Chart chart{title, "nats per token"};
  chart.note = "A note.";
  chart.lines = {{"pre_norm", {{0, 1, 2}, {3, 2, 1.5}}, 0},
                 {"a < b & c", {{0, 1, 2}, {3, 2.2, 1.7}}, 1}};
  return figure(chart);
}

TEST(SvgFiles, HaveTitleUnitLegendAndCurves) {
  const auto files = svg_files(two_curves("Validation loss, layers 16"));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "validation_loss_layers_16.svg");
  const auto& svg = files[0].content;
  EXPECT_EQ(xml_error_of_svg(svg), "") << svg;
  for (const char* part : {"xmlns=\"http://www.w3.org/2000/svg\"", ">Validation loss, layers 16<",
                           "nats per token", ">pre_norm</text>", ">a &lt; b &amp; c</text>",
                           "class=\"line c0", "class=\"line c1", "path.c0 { stroke: #0072b2; }"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("prefers-color-scheme"), std::string::npos);
  EXPECT_EQ(svg.find("script"), std::string::npos);
  EXPECT_EQ(svg.find("A note."), std::string::npos);
}

// cairosvg, resvg and MuPDF do not know CSS variables, and draw black.
TEST(SvgFiles, HaveNoVariables) {
  LayerMap map{"grad_norm", "block", "training", 1, {}};
  for (const double step : {1.0, 2.0, 3.0, 4.0}) map.values[step] = {step, std::nan("")};
  const auto files = svg_files(two_curves("Loss") + heat_map(map, "Heat", "norm"));
  ASSERT_EQ(files.size(), 2U);
  for (const auto& [name, svg] : files) {
    EXPECT_EQ(svg.find("var("), std::string::npos) << svg;
    EXPECT_EQ(svg.find("--ink"), std::string::npos) << svg;
  }
  EXPECT_NE(files[1].content.find("fill=\"#b3261e\""), std::string::npos);
  EXPECT_EQ(without_variables("var(--a) var(--ab) var(--c) var(", "--ab: x; --a: y; --a: z;"),
            "y x var(--c) var(");
}

TEST(SvgFiles, TakeTheLegendOfTheFigureAbove) {
  Chart second{"Second half", ""};
  second.lines = {{"pre_norm", {{1, 2}, {2, 1.5}}, 0}, {"keel", {{1, 2}, {2, 1.7}}, 1}};
  second.has_legend = false;
  Chart alone = second;
  alone.lines.pop_back();
  alone.has_legend = true;
  const auto files =
      svg_files(two_curves("Loss") + figure(second) + figure(alone) + figure(second));
  ASSERT_EQ(files.size(), 4U);
  const auto has_entry = [&](std::size_t at) {
    return files[at].content.find(">a &lt; b &amp; c</text>") != std::string::npos;
  };
  EXPECT_TRUE(has_entry(0));
  EXPECT_TRUE(has_entry(1));
  EXPECT_EQ(xml_error_of_svg(files[1].content), "");
  EXPECT_FALSE(has_entry(2));  // one curve needs none
  EXPECT_FALSE(has_entry(3));
}

TEST(SvgFiles, NumberEqualTitlesAndLeaveOutEmptyFigures) {
  Chart empty{"Loss", ""};
  empty.when_empty = "Nothing.";
  const auto rows = row_figures(
      {.title = "Difference", .rows = 1, .draw = [](std::size_t, double) { return "<path/>"; }},
      row_frame({"a"}, 10, linear_axis(0, 1, 4)));
  const auto files = svg_files(two_curves("Loss") + figure(empty) + two_curves("Loss") + rows);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[1].name, "loss_2.svg");
  EXPECT_EQ(files[2].name, "difference.svg");
  EXPECT_EQ(xml_error_of_svg(files[2].content), "");
}

}  // namespace
}  // namespace evenkeel::report
