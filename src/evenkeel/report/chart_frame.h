// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "evenkeel/report/chart.h"

/// The layout of a chart. All lengths are units of the SVG view box; one unit is about a CSS pixel
/// at full page width.
namespace evenkeel::report {

inline constexpr double kFont = 12;
inline constexpr double kBaseline = 4;  // of a line of text below its middle

/// The plot area of a chart, and the map from values to positions in it.
struct Frame {
  double width = 0, height = 0;
  std::size_t buckets = 0;  // of thinning: about two units each
  double left = 0, bottom_margin = 0;
  Axis x, y;

  // Edges of the plot area. y grows downwards, as in SVG.
  double top() const;
  double right() const;
  double bottom() const { return height - bottom_margin; }
  double x_position(double value) const { return left + x.place(value) * (right() - left); }
  double y_position(double value) const { return bottom() - y.place(value) * (bottom() - top()); }
};

/// The chart's lines; values that its scales cannot show become gaps.
std::vector<Line> drawable(const Chart& chart);

/// The frame that holds the lines; empty if they have no point.
std::optional<Frame> frame_of(const Chart& chart, const std::vector<Line>& lines);

/// Grid, ticks and labels as SVG.
std::string axes(const Chart& chart, const Frame& frame);

/// A coordinate or length as SVG writes it: one decimal.
std::string svg_number(double value);

}  // namespace evenkeel::report
