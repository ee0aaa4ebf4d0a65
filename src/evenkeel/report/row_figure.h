// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/report/axis.h"

/// Figures with one row an entry: its name at the left, a mark over a common axis, and numbers at
/// the right.
namespace evenkeel::report {

inline constexpr double kRowWidth = 820;  // of the view box, as of a chart of full width

/// The map from values to positions on the view box, in its units.
struct RowFrame {
  double left = 0, right = 0;
  Axis axis;

  double x_position(double value) const { return left + axis.place(value) * (right - left); }
  bool contains(double value) const { return value >= axis.low && value <= axis.high; }
};

/// The frame beside names of this length.
/// \param numbers  width that the numbers at the right need, in units of the view box
RowFrame row_frame(const std::vector<std::string>& names, double numbers, Axis axis);

/// A name; one that is too long ends in "…" and is whole when pointed at.
std::string row_name(const std::string& name, const RowFrame& frame, double y);
/// A text at (x, y). \param anchor  "start", "middle" or "end", as SVG's text-anchor
std::string row_label(const char* anchor, double x, double y, const std::string& label,
                      const std::string& tooltip = "");

/// A value with its interval: a point on a bar, in one of the colours. An end beyond the frame
/// becomes the head of an arrow at its edge, and a value beyond it has no point.
/// \param label  that the point says when pointed at; may be empty
std::string interval_mark(const char* colour, double low, double value, double high,
                          const RowFrame& frame, double y, const std::string& label = "");

/// Some rows, cut into figures that fit a printed page.
struct RowFigure {
  std::string title, unit;
  std::string note;    // below the title of the first one; may be empty
  std::string legend;  // HTML below that; may be empty
  std::size_t rows = 0;
  double zero = 0;  // where a line is drawn, be there a tick or not
  std::function<std::string(std::size_t row, double y)> draw = {};  // a row, around a height
};
/// The rows as one or more `<figure>`; "" without a row.
std::string row_figures(const RowFigure& figure, const RowFrame& frame);

}  // namespace evenkeel::report
