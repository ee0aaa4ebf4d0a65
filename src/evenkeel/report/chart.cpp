// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart_data.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/chart_marks.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

constexpr double kSmallestFont = 11;      // CSS pixels of a figure of half width
constexpr double kNarrowestFigure = 366;  // CSS pixels: a narrower window scrolls the figure

/// The picture without title and legend. Bands are drawn first, then curves, bars and dots, so that
/// no band covers a curve.
/// \param lines  of drawable(), downsampled
std::string chart_drawing(const Chart& chart, const std::vector<Line>& lines, const Frame& frame) {
  const auto least = std::lround(std::fmin(frame.width * kSmallestFont / kFont, kNarrowestFigure));
  auto out =
      text("<svg viewBox=\"0 0 ", frame.width, ' ', frame.height, "\" role=\"img\" aria-label=\"",
           escaped(chart.title), "\" style=\"min-width:", least, "px\">\n", axes(chart, frame));
  out += flags(chart, frame);
  for (const auto& line : lines) out += band(line, frame);
  for (const auto& line : lines) out += curve(line, frame);
  for (const auto& line : lines) out += bars(line, frame);
  for (const auto& line : lines) out += dots(chart, line, frame);
  out += crosses(chart, frame);
  if (chart.reference) out += reference_line(*chart.reference, frame);
  return out + "</svg>\n";
}

/// The legend: one entry per line with a name; "" for fewer than two names.
std::string chart_legend(const std::vector<Line>& lines) {
  const auto named = std::count_if(lines.begin(), lines.end(),
                                   [](const Line& line) { return !line.name.empty(); });
  if (named < 2) return {};
  std::string items;
  for (const auto& line : lines) {
    if (line.name.empty()) continue;
    const auto key = text("<svg class=\"key\" viewBox=\"0 0 28 10\"><path class=\"line ",
                          classes_of(line), "\" d=\"M1 5H27\"/></svg>");
    items += element("li", key + escaped(line.name));
  }
  return element("ul", items, "legend") + "\n";
}

}  // namespace

std::string figure(const Chart& chart) {
  auto caption = element("strong", escaped(chart.title));
  if (!chart.unit.empty()) caption += text(' ', element("span", escaped(chart.unit), "muted"));
  if (!chart.note.empty()) caption += element("p", escaped(chart.note));
  auto lines = drawable(chart);
  const auto frame = frame_of(chart, lines);
  auto picture = element("p", escaped(chart.when_empty), "missing");
  if (frame) {
    for (auto& line : lines) line = downsampled(line, frame->buckets);
    picture = element("div", chart_drawing(chart, lines, *frame), "scroll") +
              chart_data(chart, lines, *frame);
  }
  std::string classes = chart.wide ? "wide" : "";
  if (!chart.has_legend) classes += text(classes.empty() ? "" : " ", kSharesLegend);
  return element("figure",
                 element("figcaption", caption) + "\n" +
                     (frame && chart.has_legend ? chart_legend(lines) : "") + picture,
                 classes) +
         "\n";
}

std::string swatch(int colour, int dash) {
  return text("<svg class=\"key\" viewBox=\"0 0 28 10\"><path class=\"line c", colour % kColours,
              " d", dash % kDashes, "\" d=\"M1 5H27\"/></svg>");
}

}  // namespace evenkeel::report
