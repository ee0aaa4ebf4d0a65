// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/stacked_bars.h"

#include <algorithm>
#include <numeric>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/row_figure.h"

namespace evenkeel::report {

namespace {

constexpr double kStackedBarsNumbers = 90;  // units for the sum at the right
constexpr int kStackedBarsTicks = 6, kStackedBarsDigits = 4;

/// The sum of a bar's parts.
double sum_of(const StackedBar& row) {
  return std::accumulate(row.parts.begin(), row.parts.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.second; });
}

/// The CSS class of a part. After the last colour the colours repeat, fainter.
std::string class_of(std::size_t part) {
  return text("piece c", part % kColours, part >= kColours ? " faint" : "");
}

/// One bar as SVG: one rectangle per part, with name and value as a tooltip, and the sum at the
/// right. Parts of width 0 are left out.
/// \param y  middle of the row, in units of the view box
std::string stacked_bars_drawn(const StackedBar& row, const RowFrame& frame,
                               const std::string& unit_of, double y) {
  constexpr double kHalf = 6;
  auto out = row_name(row.name, frame, y);
  double before = 0;
  for (std::size_t part = 0; part < row.parts.size(); ++part) {
    const auto& [name, value] = row.parts[part];
    const double from = frame.x_position(before), to = frame.x_position(before + value);
    before += value;
    if (to <= from) continue;
    const auto tooltip = element(
        "title", escaped(text(name, ": ", with_digits(value, kStackedBarsDigits), ' ', unit_of)));
    out += text("<rect class=\"", class_of(part), "\" x=\"", svg_number(from), "\" y=\"",
                svg_number(y - kHalf), "\" width=\"", svg_number(to - from), "\" height=\"",
                svg_number(2 * kHalf), "\">", tooltip, "</rect>\n");
  }
  return out + row_label("end", kRowWidth, y,
                         with_digits(sum_of(row), kStackedBarsDigits) + " " + unit_of);
}

/// The legend: names of the parts in their colours.
std::string stacked_bars_legend(const StackedBar& row) {
  std::string out;
  for (std::size_t part = 0; part < row.parts.size(); ++part) {
    const auto square = text(
        "<svg viewBox=\"0 0 12 12\" width=\"12\" height=\"12\">"
        "<rect class=\"",
        class_of(part), "\" width=\"12\" height=\"12\"/></svg>");
    out += element("li", square + escaped(row.parts[part].first));
  }
  return element("ul", out, "legend");
}

}  // namespace

std::string stacked_bars(const std::string& title, const std::string& unit_of,
                         const std::string& note, const std::vector<StackedBar>& rows) {
  if (rows.empty()) return "";
  double most = 0;
  std::vector<std::string> names;
  for (const auto& row : rows) {
    most = std::max(most, sum_of(row));
    names.push_back(row.name);
  }
  auto axis = linear_axis(0, most, kStackedBarsTicks);
  axis.low = 0;
  const auto frame = row_frame(names, kStackedBarsNumbers, axis);
  const auto draw = [&](std::size_t row, double y) {
    return stacked_bars_drawn(rows[row], frame, unit_of, y);
  };
  return row_figures({.title = title,
                      .unit = unit_of,
                      .note = note,
                      .legend = stacked_bars_legend(rows.front()),
                      .rows = rows.size(),
                      .draw = draw},
                     frame);
}

}  // namespace evenkeel::report
