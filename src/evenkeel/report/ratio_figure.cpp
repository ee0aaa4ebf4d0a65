// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/ratio_figure.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/axis.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/row_figure.h"

namespace evenkeel::report {

namespace {

constexpr double kNumbers = 150;  // units for the figures at the right
constexpr int kTicks = 6, kRatioFigureDecimals = 3;
constexpr const char* kPlain = "c0";
constexpr const char* kRatioFigureAbove = "c1";
constexpr const char* kWithin = "c2";

/// The axis: from below min(ratios, 1) to above the largest ratio. Intervals may exceed it.
Axis axis_of(const std::vector<Ratio>& ratios) {
  constexpr double kMargin = 0.06;
  double low = 1, high = 1;
  for (const auto& ratio : ratios) {
    low = std::min(low, ratio.median);
    high = std::max({high, ratio.median, ratio.goal});
  }
  const double room = kMargin * std::max(high - low, kMargin);
  return linear_axis(std::max(0.0, low - room), high + room, kTicks);
}

/// The CSS class of a ratio: goal met, goal missed, or neither (no goal, or not judged).
const char* ratio_figure_colour_of(const Ratio& ratio) {
  if (ratio.goal == 0 || !ratio.is_judged) return kPlain;
  return ratio.median <= ratio.goal ? kWithin : kRatioFigureAbove;
}

/// The row of a ratio: its interval, its goal, and its numbers.
std::string ratio_figure_drawn(const Ratio& ratio, const RowFrame& frame, double y) {
  constexpr double kHalf = 7;
  auto out = row_name(ratio.name, frame, y);
  if (ratio.goal > 0) {
    out += text("<path class=\"reference\" d=\"M", svg_number(frame.x_position(ratio.goal)), ' ',
                svg_number(y - kHalf), 'v', svg_number(2 * kHalf), "\"/>\n");
  }
  out +=
      interval_mark(ratio_figure_colour_of(ratio), ratio.low, ratio.median, ratio.high, frame, y);
  const auto numbers =
      text(fixed(ratio.median, kRatioFigureDecimals), " [", fixed(ratio.low, kRatioFigureDecimals),
           ", ", fixed(ratio.high, kRatioFigureDecimals), "]");
  return out + row_label("end", kRowWidth, y, numbers);
}

/// The legend of the marks and colours of these rows.
std::string legend_of(const std::vector<Ratio>& ratios) {
  const auto any = [&](bool is_judged) {
    return std::any_of(ratios.begin(), ratios.end(), [&](const Ratio& ratio) {
      return ratio.goal > 0 && ratio.is_judged == is_judged;
    });
  };
  std::string out = " The vertical line marks 1.";
  if (any(true) || any(false)) out += " A dotted mark is the goal";
  if (any(true)) out += "; green: within it, orange: above";
  if (any(false)) out += "; blue: not judged";
  return out + (any(true) || any(false) ? "." : "");
}

}  // namespace

std::string ratio_figures(const std::string& title, const std::string& note,
                          const std::vector<Ratio>& ratios) {
  std::vector<Ratio> all;
  std::copy_if(ratios.begin(), ratios.end(), std::back_inserter(all), [](const Ratio& ratio) {
    return std::isfinite(ratio.median) && std::isfinite(ratio.low) && std::isfinite(ratio.high);
  });
  if (all.empty()) return "";
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& ratio : all) names.push_back(ratio.name);
  const auto frame = row_frame(names, kNumbers, axis_of(all));
  const auto note_text = note + legend_of(all);
  const auto draw = [&](std::size_t row, double y) {
    return ratio_figure_drawn(all[row], frame, y);
  };
  return row_figures({.title = title,
                      .unit = "median of the rounds' ratios",
                      .note = note_text,
                      .rows = all.size(),
                      .zero = 1,
                      .draw = draw},
                     frame);
}

}  // namespace evenkeel::report
