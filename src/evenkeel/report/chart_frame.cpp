// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart_frame.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

constexpr double kTop = 10, kRight = 14, kBottom = 28;
constexpr double kDigitWidth = 7, kLabelGap = 8;
constexpr double kLeastLeft = 48;          // room for "step" and half a label
constexpr std::size_t kLongestBeside = 6;  // letters of `across` that fit there
constexpr double kRow = 17;                // below the labels, for longer ones

struct Size {
  double width, height;
  int x_ticks, y_ticks;
  std::size_t buckets;
};
constexpr Size kWide = {820, 320, 10, 7, 400};
constexpr Size kHalf = {400, 226, 5, 6, 190};

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

bool has_own_row(const Chart& chart) {
  return chart.across.size() > kLongestBeside;
}

/// Adds what lies around the points. Bars widen the range to no more than three times that of the
/// points, and leave the frame where they are longer: one that nobody knows must not flatten all.
void add_spreads(const Chart& chart, const std::vector<Line>& lines, Range& range) {
  const auto points = range;
  const double reach = points.high - points.low;
  const bool is_bounded = reach > 0 && chart.scale != Scale::logarithmic;
  for (const auto& line : lines) {
    const bool is_cut = is_bounded && line.spread.as == Spread::As::bars;
    for (const auto* values : {&line.spread.low, &line.spread.high}) {
      for (const double value : finite(*values)) {
        range.add(is_cut ? std::clamp(value, points.low - reach, points.high + reach) : value);
      }
    }
  }
}

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

Axis horizontal_axis(const Chart& chart, Range range, int wanted) {
  constexpr double kNearZero = 0.1, kMargin = 0.04;
  Axis axis;
  if (chart.logarithmic_across) {
    const double margin = std::pow(range.high / range.low, kMargin);
    axis = logarithmic_axis(range.low / margin, range.high * margin, wanted);
  } else if (!chart.ticks_across.empty()) {
    const double margin = kMargin * (range.high - range.low);
    axis = linear_axis(range.low - margin, range.high + margin, wanted);
  } else {
    if (range.low < kNearZero * range.high) range.low = 0;
    // Steps and layers are whole numbers; a single one gets the ticks of any range.
    const double across = range.high - range.low;
    const int ticks = across < 1 ? wanted : static_cast<int>(std::min<double>(wanted, across));
    axis = linear_axis(range.low, range.high, ticks);
  }
  if (!chart.ticks_across.empty()) axis.ticks = chart.ticks_across;
  return axis;
}

/// Ticks below the axis and their labels; of labels given by the chart those that have room.
std::string horizontal_labels(const Chart& chart, const Frame& frame) {
  constexpr double kTickLength = 5, kLabelDrop = 19;
  auto out = text("<path class=\"axis\" d=\"M", unit(frame.left), ' ', unit(frame.bottom()), 'H',
                  unit(frame.right()));
  for (const auto& tick : frame.x.ticks) {
    out += text('M', unit(frame.across(tick.at)), ' ', unit(frame.bottom()), 'v', kTickLength);
  }
  out += "\"/>\n";
  double taken = 0;
  for (const auto& tick : frame.x.ticks) {
    const double x = frame.across(tick.at);
    const double overhang = kDigitWidth * static_cast<double>(tick.label.size()) / 2;
    if (!chart.ticks_across.empty() && x - overhang < taken) continue;
    taken = x + overhang;
    const bool leans = x + overhang > frame.width;
    out +=
        text("<text class=\"", leans ? "end" : "middle", "\" x=\"", unit(leans ? frame.width : x),
             "\" y=\"", unit(frame.bottom() + kLabelDrop), "\">", escaped(tick.label), "</text>\n");
  }
  if (has_own_row(chart)) {
    return out + text("<text class=\"middle\" x=\"", unit((frame.left + frame.right()) / 2),
                      "\" y=\"", unit(frame.bottom() + kLabelDrop + kRow), "\">",
                      escaped(chart.across), "</text>\n");
  }
  return out + text("<text x=\"0\" y=\"", unit(frame.bottom() + kLabelDrop), "\">",
                    escaped(chart.across), "</text>\n");
}

}  // namespace

double Frame::top() const {
  return kTop;
}

double Frame::right() const {
  return width - kRight;
}

std::string unit(double value) {
  return fixed(value, 1);
}

std::vector<Line> drawable(const Chart& chart) {
  auto lines = chart.lines;
  for (auto& line : lines) {
    for (std::size_t at = 0; at < line.points.size(); ++at) {
      if (chart.logarithmic_across && !(line.points.x[at] > 0)) line.points.y[at] = std::nan("");
    }
    if (chart.scale != Scale::logarithmic) continue;
    for (auto* values : {&line.points.y, &line.spread.low, &line.spread.high}) {
      for (auto& value : *values) {
        if (!(value > 0)) value = std::nan("");
      }
    }
  }
  return lines;
}

std::optional<Frame> frame_of(const Chart& chart, const std::vector<Line>& lines) {
  const auto& size = chart.wide ? kWide : kHalf;
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
  add_spreads(chart, lines, y);
  const auto vertical = vertical_axis(chart, y, size.y_ticks);
  std::size_t longest = 1;
  for (const auto& tick : vertical.ticks) longest = std::max(longest, tick.label.size());
  const double label = kLabelGap + kDigitWidth * static_cast<double>(longest);
  const double row = has_own_row(chart) ? kRow : 0;
  return Frame{size.width,    size.height + row,
               size.buckets,  std::max(kLeastLeft, label),
               kBottom + row, horizontal_axis(chart, x, size.x_ticks),
               vertical};
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string out;
  for (const auto& tick : frame.y.ticks) {
    const auto y = unit(frame.down(tick.at));
    out += text("<path class=\"grid\" d=\"M", unit(frame.left), ' ', y, 'H', unit(frame.right()),
                "\"/><text class=\"end\" x=\"", unit(frame.left - kLabelGap), "\" y=\"",
                unit(frame.down(tick.at) + kBaseline), "\">", escaped(tick.label), "</text>\n");
  }
  return out + horizontal_labels(chart, frame);
}

}  // namespace evenkeel::report
