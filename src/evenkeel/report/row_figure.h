// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/report/axis.h"

/// Figures with one row per entry: name at the left, a mark over a common axis, numbers at the
/// right. Lengths are units of the SVG view box.
namespace evenkeel::report {

inline constexpr double kRowWidth = 820;  // width of the view box, equal to that of a wide chart

/// The map from values to horizontal positions.
struct RowFrame {
  double left = 0, right = 0;
  Axis axis;

  double x_position(double value) const { return left + axis.place(value) * (right - left); }
  bool contains(double value) const { return value >= axis.low && value <= axis.high; }
};

/// The frame between the names and the numbers.
/// \param names    names of all rows; the longest one determines the left edge
/// \param numbers  width of the numbers at the right
RowFrame row_frame(const std::vector<std::string>& names, double numbers, Axis axis);

/// The name of a row. A long name ends in "…" and has a tooltip with the whole name.
std::string row_name(const std::string& name, const RowFrame& frame, double y);
/// A text at (x, y).
/// \param anchor  "start", "middle" or "end", as SVG's text-anchor
std::string row_label(const char* anchor, double x, double y, const std::string& label,
                      const std::string& tooltip = "");

/// A value with its interval: a point on a bar. An end outside the frame becomes an arrowhead at
/// the edge; a value outside it has no point.
/// \param colour  CSS class
/// \param label   tooltip of the point; may be empty
std::string interval_mark(const char* colour, double low, double value, double high,
                          const RowFrame& frame, double y, const std::string& label = "");

/// The content of a row figure.
struct RowFigure {
  std::string title, unit;
  std::string note;    // below the title of the first figure; may be empty
  std::string legend;  // HTML below the note; may be empty
  std::size_t rows = 0;
  double zero = 0;  // value at which a vertical line is drawn
  std::function<std::string(std::size_t row, double y)> draw = {};  // SVG of a row, centred at y
};
/// The rows, split into as many `<figure>` as printed pages need; "" without rows.
std::string row_figures(const RowFigure& figure, const RowFrame& frame);

}  // namespace evenkeel::report
