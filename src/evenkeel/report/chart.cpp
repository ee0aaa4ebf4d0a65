// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/axis.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

// All lengths are units of the view box; one unit is about a CSS pixel at full page width.
constexpr double kTop = 10, kRight = 14, kBottom = 28, kFont = 12;
constexpr double kDigitWidth = 7, kLabelGap = 8, kBaseline = 4;
constexpr double kSmallestFont = 11;  // CSS pixels: a narrower window scrolls instead of shrinking
constexpr std::size_t kDotsUpTo = 40;
constexpr double kLeastLeft = 48;  // room for "step" and half a label

struct Size {
  double width, height;
  int x_ticks, y_ticks;
  std::size_t buckets;  // of thinning: about two units each
};
constexpr Size kWide = {820, 320, 10, 7, 400};
constexpr Size kHalf = {400, 226, 5, 6, 190};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

/// Where the chart's values lie on the view box.
struct Frame {
  Size size;
  double left;
  Axis x, y;

  double right() const { return size.width - kRight; }
  double bottom() const { return size.height - kBottom; }
  double across(double value) const { return left + x.place(value) * (right() - left); }
  double down(double value) const { return bottom() - y.place(value) * (bottom() - kTop); }
};

std::string unit(double value) {
  return fixed(value, 1);
}

/// Values that the scale cannot show become gaps.
std::vector<Line> drawable(const Chart& chart) {
  auto lines = chart.lines;
  for (auto& line : lines) {
    for (auto& y : line.points.y) {
      if (chart.scale == Scale::logarithmic && !(y > 0)) y = std::nan("");
    }
  }
  return lines;
}

Axis vertical_axis(const Chart& chart, Range range, int wanted) {
  constexpr double kMargin = 0.05, kMarginForLabel = 0.13;
  double below = kMargin;
  if (chart.reference) {
    if (chart.reference->at <= range.low) below = kMarginForLabel;
    range.add(chart.reference->at);
  }
  if (chart.scale == Scale::logarithmic) {
    const double margin = std::pow(range.high / range.low, kMargin);
    return logarithmic_axis(range.low / margin, range.high * margin, wanted);
  }
  if (chart.scale == Scale::from_zero) range.add(0);
  const double length = range.high - range.low;
  const double low = chart.scale == Scale::from_zero ? range.low : range.low - below * length;
  return linear_axis(low, range.high + kMargin * length, wanted);
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
  constexpr double kNearZero = 0.1;
  if (x.low < kNearZero * x.high) x.low = 0;
  const auto vertical = vertical_axis(chart, y, size.y_ticks);
  std::size_t longest = 1;
  for (const auto& tick : vertical.ticks) longest = std::max(longest, tick.label.size());
  const double label = kLabelGap + kDigitWidth * static_cast<double>(longest);
  const double left = std::max(kLeastLeft, label);
  // Steps and layers are whole numbers; a single one gets the ticks of any range.
  const double across = x.high - x.low;
  const int ticks =
      across < 1 ? size.x_ticks : static_cast<int>(std::min<double>(size.x_ticks, across));
  return Frame{size, left, linear_axis(x.low, x.high, ticks), vertical};
}

std::string axes(const Chart& chart, const Frame& frame) {
  std::string out;
  for (const auto& tick : frame.y.ticks) {
    const auto y = unit(frame.down(tick.at));
    out += text("<path class=\"grid\" d=\"M", unit(frame.left), ' ', y, 'H', unit(frame.right()),
                "\"/><text class=\"end\" x=\"", unit(frame.left - kLabelGap), "\" y=\"",
                unit(frame.down(tick.at) + kBaseline), "\">", escaped(tick.label), "</text>\n");
  }
  constexpr double kTickLength = 5, kLabelDrop = 19;
  out += text("<path class=\"axis\" d=\"M", unit(frame.left), ' ', unit(frame.bottom()), 'H',
              unit(frame.right()));
  for (const auto& tick : frame.x.ticks) {
    out += text('M', unit(frame.across(tick.at)), ' ', unit(frame.bottom()), 'v', kTickLength);
  }
  out += "\"/>\n";
  for (const auto& tick : frame.x.ticks) {
    const double x = frame.across(tick.at);
    const double overhang = kDigitWidth * static_cast<double>(tick.label.size()) / 2;
    const bool leans = x + overhang > frame.size.width;
    out += text("<text class=\"", leans ? "end" : "middle", "\" x=\"",
                unit(leans ? frame.size.width : x), "\" y=\"", unit(frame.bottom() + kLabelDrop),
                "\">", escaped(tick.label), "</text>\n");
  }
  return out + text("<text x=\"0\" y=\"", unit(frame.bottom() + kLabelDrop), "\">", chart.across,
                    "</text>\n");
}

std::string style_of(const Line& line) {
  return text('c', line.colour % kColours, " d", line.dash % kDashes,
              line.stroke == Stroke::faint ? " faint" : "");
}

/// A point without neighbours becomes a dot: a line of no length with round ends.
std::string curve(const Line& line, const Frame& frame) {
  const auto points = thinned(line.points, frame.size.buckets);
  const auto is_point = [&](std::size_t at) {
    return at < points.size() && std::isfinite(points.y[at]);
  };
  std::string path;
  bool down = false;  // the pen
  for (std::size_t at = 0; at < points.size(); ++at) {
    if (!is_point(at)) {
      down = false;
      continue;
    }
    path += text(down ? 'L' : 'M', unit(frame.across(points.x[at])), ' ',
                 unit(frame.down(points.y[at])));
    if (!down && !is_point(at + 1)) path += "h0";
    down = true;
  }
  return text("<path class=\"line ", style_of(line), "\" d=\"", path, "\"/>\n");
}

/// Few points are marked, and say their value when pointed at.
std::string dots(const Chart& chart, const Line& line, const Frame& frame) {
  if (line.points.size() > kDotsUpTo || line.stroke != Stroke::dotted) return {};
  constexpr int kDecimals = 4;
  std::string out;
  for (std::size_t at = 0; at < line.points.size(); ++at) {
    const double x = line.points.x[at], y = line.points.y[at];
    if (!std::isfinite(y)) continue;
    out += text("<circle class=\"c", line.colour % kColours, "\" cx=\"", unit(frame.across(x)),
                "\" cy=\"", unit(frame.down(y)), "\" r=\"2.6\"><title>", escaped(line.name),
                line.name.empty() ? "" : ", ", chart.across, " ", with_commas(std::llround(x)),
                ": ", fixed(y, kDecimals), "</title></circle>\n");
  }
  return out;
}

std::string reference_line(const Reference& reference, const Frame& frame) {
  constexpr double kAbove = -5, kBelow = 14;
  const double y = frame.down(reference.at);
  const bool has_room_below = y + kBelow + kBaseline < frame.bottom();
  return text("<path class=\"reference\" d=\"M", unit(frame.left), ' ', unit(y), 'H',
              unit(frame.right()), "\"/><text class=\"end\" x=\"", unit(frame.right()), "\" y=\"",
              unit(y + (has_room_below ? kBelow : kAbove)), "\">", escaped(reference.label),
              "</text>\n");
}

std::string drawing(const Chart& chart, const std::vector<Line>& lines, const Frame& frame) {
  const auto& size = frame.size;
  auto out = text("<svg viewBox=\"0 0 ", size.width, ' ', size.height,
                  "\" role=\"img\" aria-label=\"", escaped(chart.title),
                  "\" style=\"min-width:", std::lround(size.width * kSmallestFont / kFont),
                  "px\">\n", axes(chart, frame));
  for (const auto& line : lines) out += curve(line, frame);
  for (const auto& line : lines) out += dots(chart, line, frame);
  if (chart.reference) out += reference_line(*chart.reference, frame);
  return out + "</svg>\n";
}

std::string legend(const std::vector<Line>& lines) {
  if (lines.size() < 2) return {};
  std::string items;
  for (const auto& line : lines) {
    const auto key = text("<svg class=\"key\" viewBox=\"0 0 28 10\"><path class=\"line ",
                          style_of(line), "\" d=\"M1 5H27\"/></svg>");
    items += element("li", key + escaped(line.name));
  }
  return element("ul", items, "legend") + "\n";
}

}  // namespace

std::string figure(const Chart& chart) {
  auto caption = element("strong", escaped(chart.title));
  if (!chart.unit.empty()) caption += text(' ', element("span", escaped(chart.unit), "muted"));
  if (!chart.note.empty()) caption += element("p", escaped(chart.note));
  const auto lines = drawable(chart);
  const auto frame = frame_of(chart, lines);
  const auto picture = frame ? element("div", drawing(chart, lines, *frame), "scroll")
                             : element("p", escaped(chart.when_empty), "missing");
  return element("figure",
                 element("figcaption", caption) + "\n" +
                     (frame && chart.has_legend ? legend(lines) : "") + picture,
                 chart.wide ? "wide" : "") +
         "\n";
}

std::string swatch(int colour, int dash) {
  return text("<svg class=\"key\" viewBox=\"0 0 28 10\"><path class=\"line c", colour % kColours,
              " d", dash % kDashes, "\" d=\"M1 5H27\"/></svg>");
}

}  // namespace evenkeel::report
