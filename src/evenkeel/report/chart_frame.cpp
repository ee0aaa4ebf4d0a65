// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart_frame.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

constexpr double kChartFrameTop = 10, kChartFrameRight = 14, kChartFrameBottom = 28;
constexpr double kDigitWidth = 7, kLabelGap = 8;
constexpr double kMinLeft = 48;             // room for "step" and half a label
constexpr std::size_t kMaxInlineLabel = 6;  // letters of `x_label` that fit there
constexpr double kChartFrameRow = 17;       // below the labels, for longer ones

/// Size of a chart, number of ticks, and number of buckets of downsampled() (two units each).
struct Size {
  double width, height;
  int x_ticks, y_ticks;
  std::size_t buckets;
};
constexpr Size kChartFrameWide = {820, 320, 10, 7, 400};
constexpr Size kChartFrameHalf = {400, 226, 5, 6, 190};

/// The least and the largest finite value that was added; low > high without any.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// True if the label of the x axis is too long for the end of the axis: it gets a separate line.
bool has_x_label_row(const Chart& chart) {
  return chart.x_label.size() > kMaxInlineLabel;
}

/// Adds the error bounds to the range. Bars widen the range to at most three times that of the
/// points: one very uncertain point must not flatten all curves. Longer bars are cut at the frame.
void add_bounds(const Chart& chart, const std::vector<Line>& lines, Range& range) {
  const auto points = range;
  const double reach = points.high - points.low;
  const bool is_bounded = reach > 0 && chart.scale != Scale::logarithmic;
  for (const auto& line : lines) {
    const bool is_cut = is_bounded && line.bounds.as == ErrorBounds::As::bars;
    for (const auto* values : {&line.bounds.low, &line.bounds.high}) {
      for (const double value : finite_values(*values)) {
        range.add(is_cut ? std::clamp(value, points.low - reach, points.high + reach) : value);
      }
    }
  }
}

/// The y axis: the values, the reference line, and a margin for marks and labels.
Axis vertical_axis(const Chart& chart, Range range, int wanted) {
  constexpr double kMargin = 0.05, kMarginForLabel = 0.13;
  const double above = chart.crosses.empty() ? kMargin : kMarginForLabel;
  double below = kMargin;
  if (chart.reference) {
    if (chart.reference->at <= range.low) below = kMarginForLabel;
    range.add(chart.reference->at);
  }
  if (chart.scale == Scale::logarithmic) {
    const double ratio = range.high / range.low;
    return logarithmic_axis(range.low / std::pow(ratio, kMargin),
                            range.high * std::pow(ratio, above), wanted);
  }
  if (chart.scale == Scale::from_zero) range.add(0);
  const double length = range.high - range.low;
  const double low = chart.scale == Scale::from_zero ? range.low : range.low - below * length;
  return linear_axis(low, range.high + above * length, wanted);
}

/// The x axis. It begins at 0 if the smallest value is near 0.
Axis horizontal_axis(const Chart& chart, Range range, int wanted) {
  constexpr double kNearZero = 0.1, kMargin = 0.04;
  Axis axis;
  if (chart.logarithmic_x) {
    const double margin = std::pow(range.high / range.low, kMargin);
    axis = logarithmic_axis(range.low / margin, range.high * margin, wanted);
  } else if (!chart.x_ticks.empty()) {
    const double margin = kMargin * (range.high - range.low);
    axis = linear_axis(range.low - margin, range.high + margin, wanted);
  } else {
    if (range.low < kNearZero * range.high) range.low = 0;
    // Steps and layers are whole numbers; a single one gets the ticks of any range.
    const double span = range.high - range.low;
    const int ticks = span < 1 ? wanted : static_cast<int>(std::min<double>(wanted, span));
    axis = linear_axis(range.low, range.high, ticks);
  }
  if (!chart.x_ticks.empty()) axis.ticks = chart.x_ticks;
  return axis;
}

/// Ticks below the axis and their labels; of labels given by the chart those that have room.
std::string horizontal_labels(const Chart& chart, const Frame& frame) {
  constexpr double kTickLength = 5, kLabelDrop = 19;
  auto out = text("<path class=\"axis\" d=\"M", svg_number(frame.left), ' ',
                  svg_number(frame.bottom()), 'H', svg_number(frame.right()));
  for (const auto& tick : frame.x.ticks) {
    out += text('M', svg_number(frame.x_position(tick.at)), ' ', svg_number(frame.bottom()), 'v',
                kTickLength);
  }
  out += "\"/>\n";
  double taken = 0;
  for (const auto& tick : frame.x.ticks) {
    const double x = frame.x_position(tick.at);
    const double overhang = kDigitWidth * static_cast<double>(tick.label.size()) / 2;
    if (!chart.x_ticks.empty() && x - overhang < taken) continue;
    taken = x + overhang;
    const bool leans = x + overhang > frame.width;
    out += text("<text class=\"", leans ? "end" : "middle", "\" x=\"",
                svg_number(leans ? frame.width : x), "\" y=\"",
                svg_number(frame.bottom() + kLabelDrop), "\">", escaped(tick.label), "</text>\n");
  }
  if (has_x_label_row(chart)) {
    return out + text("<text class=\"middle\" x=\"", svg_number((frame.left + frame.right()) / 2),
                      "\" y=\"", svg_number(frame.bottom() + kLabelDrop + kChartFrameRow), "\">",
                      escaped(chart.x_label), "</text>\n");
  }
  return out + text("<text class=\"axis-name\" x=\"0\" y=\"",
                    svg_number(frame.bottom() + kLabelDrop), "\">", escaped(chart.x_label),
                    "</text>\n");
}

}  // namespace

double Frame::top() const {
  return kChartFrameTop;
}

double Frame::right() const {
  return width - kChartFrameRight;
}

std::string svg_number(double value) {
  return fixed(value, 1);
}

std::vector<Line> drawable(const Chart& chart) {
  auto lines = chart.lines;
  for (auto& line : lines) {
    for (std::size_t at = 0; at < line.points.size(); ++at) {
      if (chart.logarithmic_x && !(line.points.x[at] > 0)) line.points.y[at] = std::nan("");
    }
    if (chart.scale != Scale::logarithmic) continue;
    for (auto* values : {&line.points.y, &line.bounds.low, &line.bounds.high}) {
      for (auto& value : *values) {
        if (!(value > 0)) value = std::nan("");
      }
    }
  }
  return lines;
}

std::optional<Frame> frame_of(const Chart& chart, const std::vector<Line>& lines) {
  const auto& size = chart.wide ? kChartFrameWide : kChartFrameHalf;
  Range x, y;
  for (const auto& line : lines) {
    for (std::size_t at = 0; at < line.points.size(); ++at) {
      if (!std::isfinite(line.points.y[at])) continue;
      x.add(line.points.x[at]);
      y.add(line.points.y[at]);
    }
  }
  if (y.empty()) return std::nullopt;
  for (const auto& cross : chart.crosses) x.add(cross.at);
  add_bounds(chart, lines, y);
  const auto vertical = vertical_axis(chart, y, size.y_ticks);
  std::size_t longest = 1;
  for (const auto& tick : vertical.ticks) longest = std::max(longest, tick.label.size());
  const double label = kLabelGap + kDigitWidth * static_cast<double>(longest);
  const double row = has_x_label_row(chart) ? kChartFrameRow : 0;
  return Frame{size.width,
               size.height + row,
               size.buckets,
               std::max(kMinLeft, label),
               kChartFrameBottom + row,
               horizontal_axis(chart, x, size.x_ticks),
               vertical};
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string out;
  for (const auto& tick : frame.y.ticks) {
    const auto y = svg_number(frame.y_position(tick.at));
    out += text("<path class=\"grid\" d=\"M", svg_number(frame.left), ' ', y, 'H',
                svg_number(frame.right()), "\"/><text class=\"end\" x=\"",
                svg_number(frame.left - kLabelGap), "\" y=\"",
                svg_number(frame.y_position(tick.at) + kBaseline), "\">", escaped(tick.label),
                "</text>\n");
  }
  return out + horizontal_labels(chart, frame);
}

}  // namespace evenkeel::report
