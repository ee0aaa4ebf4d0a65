// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "evenkeel/report/axis.h"

/// Figures with a row for each thing: its name at the left, something drawn over a common axis, and
/// numbers at the right.
namespace evenkeel::report {

inline constexpr double kRowWidth = 820;  // of the view box, as of a chart of full width

/// Where values lie on the view box.
struct RowField {
  double left = 0, right = 0;
  Axis axis;

  double across(double value) const { return left + axis.place(value) * (right - left); }
  bool holds(double value) const { return value >= axis.low && value <= axis.high; }
};

/// \param numbers  units that the figures at the right need
RowField row_field(const std::vector<std::string>& names, double numbers, Axis axis);

/// A name; one that is too long ends in "…" and is whole when pointed at.
std::string row_name(const std::string& name, const RowField& field, double y);
std::string row_label(const char* anchor, double x, double y, const std::string& words,
                      const std::string& whole = "");

/// An interval; an end beyond the field becomes the head of an arrow at its edge.
std::string interval_path(double low, double high, const RowField& field, double y);

/// The whole figure of some rows.
/// \param note  below the title; may be empty
/// \param zero  the value on the axis where a line is drawn, whether a tick or not
/// \param draw  what stands in a row, around a height
/// \param legend  HTML below the note; may be empty
std::string row_figure(const std::string& title, const std::string& unit, const std::string& note,
                       const RowField& field, std::size_t rows, double zero,
                       const std::function<std::string(std::size_t row, double y)>& draw,
                       const std::string& legend = "");

}  // namespace evenkeel::report
