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
inline constexpr double kBaseline = 4;  // baseline of a text line, below its middle

/// The plot area of a chart, and the map from values to positions in it.
struct Frame {
  double width = 0, height = 0;
  std::size_t buckets = 0;  // of downsampled(): about two units each
  double left = 0, bottom_margin = 0;
  Axis x, y;

  // Edges of the plot area. y grows downwards, as in SVG.
  double top() const;
  double right() const;
  double bottom() const { return height - bottom_margin; }
  double x_position(double value) const { return left + x.place(value) * (right() - left); }
  double y_position(double value) const { return bottom() - y.place(value) * (bottom() - top()); }
};

/// The lines of the chart. Values <= 0 become gaps (NaN) on a logarithmic scale.
std::vector<Line> drawable(const Chart& chart);

/// The frame that contains all lines; nullopt if no line has a finite point.
std::optional<Frame> frame_of(const Chart& chart, const std::vector<Line>& lines);

/// Grid, ticks and labels as SVG.
std::string axes(const Chart& chart, const Frame& frame);

/// A coordinate or length with one decimal: "12.0".
std::string svg_number(double value);

}  // namespace evenkeel::report
