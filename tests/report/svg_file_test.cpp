// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/svg_file.h"

#include <gtest/gtest.h>

#include "evenkeel/report/chart.h"
#include "evenkeel/report/row_figure.h"
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
                           "class=\"line c0", "class=\"line c1", "--c0: #0072b2"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(svg.find("prefers-color-scheme"), std::string::npos);
  EXPECT_EQ(svg.find("script"), std::string::npos);
  EXPECT_EQ(svg.find("A note."), std::string::npos);
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
