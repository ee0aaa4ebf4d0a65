// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/chart_marks.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

constexpr std::size_t kDotsUpTo = 40;

/// The x of a point on the view box, shifted with its line.
double x_of(const Line& line, std::size_t at, const Frame& frame) {
  return frame.x_position(line.points.x[at]) + line.shift;
}

/// "12.0 34.5": a point of an SVG path
std::string point(double x, double y) {
  return text(svg_number(x), ' ', svg_number(y));
}

/// Whether the point has finite error bounds of this form.
bool has_bounds(const Line& line, std::size_t at, ErrorBounds::As as) {
  return line.bounds.as == as && at < line.bounds.high.size() &&
         std::isfinite(line.bounds.high[at]) && std::isfinite(line.points.y[at]);
}

/// The y of the low end; the lower edge for a value <= 0 on a logarithmic scale.
double low_end(const Line& line, std::size_t at, const Frame& frame) {
  const double low = line.bounds.low[at];
  return std::isfinite(low) ? frame.y_position(low) : frame.bottom();
}

/// A value of the x axis as text: the label of its tick, or the number.
std::string place_text(const Chart& chart, double x) {
  for (const auto& tick : chart.x_ticks) {
    if (tick.at == x) return tick.label;
  }
  constexpr int kDigits = 6;
  return x == std::round(x) ? with_commas(std::llround(x)) : with_digits(x, kDigits);
}

/// The tooltip of a point: its value, and its bounds if it has any.
std::string chart_marks_value_text(const Line& line, std::size_t at) {
  constexpr int kDecimals = 4, kDigits = 5;
  const double y = line.points.y[at];
  if (has_bounds(line, at, ErrorBounds::As::bars)) {
    return text(with_digits(y, kDigits), " [", with_digits(line.bounds.low[at], kDigits), ", ",
                with_digits(line.bounds.high[at], kDigits), "]");
  }
  return line.stroke == Stroke::points ? with_digits(y, kDigits) : fixed(y, kDecimals);
}

}  // namespace

Line downsampled(const Line& line, std::size_t buckets) {
  auto out = line;
  if (line.bounds.high.empty()) {
    out.points = downsampled(line.points, buckets);
    return out;
  }
  out.points = {};
  out.bounds.low.clear();
  out.bounds.high.clear();
  for (const auto at :
       downsample_indices({&line.points.y, &line.bounds.low, &line.bounds.high}, buckets)) {
    out.points.add(line.points.x[at], line.points.y[at]);
    out.bounds.low.push_back(line.bounds.low[at]);
    out.bounds.high.push_back(line.bounds.high[at]);
  }
  return out;
}

std::string classes_of(const Line& line) {
  return text('c', line.colour % kColours, " d", line.dash % kDashes,
              line.stroke == Stroke::faint ? " faint" : "");
}

/// A dot as an SVG path: a line of length 0 with round caps.
std::string curve(const Line& line, const Frame& frame) {
  if (line.stroke == Stroke::points) return {};
  const auto& points = line.points;
  const auto is_point = [&](std::size_t at) {
    return at < points.size() && std::isfinite(points.y[at]);
  };
  std::string path;
  bool pen_is_down = false;
  for (std::size_t at = 0; at < points.size(); ++at) {
    if (!is_point(at)) {
      pen_is_down = false;
      continue;
    }
    path +=
        (pen_is_down ? 'L' : 'M') + point(x_of(line, at, frame), frame.y_position(points.y[at]));
    if (!pen_is_down && !is_point(at + 1)) path += "h0";
    pen_is_down = true;
  }
  return text("<path class=\"line ", classes_of(line), "\" d=\"", path, "\"/>\n");
}

std::string band(const Line& line, const Frame& frame) {
  std::string path;
  const auto is_inside = [&](std::size_t at) {
    return has_bounds(line, at, ErrorBounds::As::band);
  };
  for (std::size_t begin = 0; begin < line.points.size(); ++begin) {
    if (!is_inside(begin)) continue;
    auto end = begin;
    std::string forth, back;
    for (; is_inside(end); ++end) {
      const double x = x_of(line, end, frame);
      forth += (end == begin ? 'M' : 'L') + point(x, frame.y_position(line.bounds.high[end]));
      back.insert(0, 'L' + point(x, low_end(line, end, frame)));
    }
    path += forth + back + 'Z';
    begin = end;
  }
  if (path.empty()) return {};
  return text("<path class=\"band c", line.colour % kColours, "\" d=\"", path, "\"/>\n");
}

std::string bars(const Line& line, const Frame& frame) {
  constexpr double kHalfEnd = 3;
  std::string path;
  for (std::size_t at = 0; at < line.points.size(); ++at) {
    if (!has_bounds(line, at, ErrorBounds::As::bars)) continue;
    const double x = x_of(line, at, frame);
    const double high = frame.y_position(line.bounds.high[at]), low = low_end(line, at, frame);
    path += text('M', point(x, std::max(high, frame.top())), 'V',
                 svg_number(std::min(low, frame.bottom())));
    for (const double y : {high, low}) {
      if (y < frame.top() || y >= frame.bottom()) continue;
      path += text('M', point(x - kHalfEnd, y), 'h', svg_number(2 * kHalfEnd));
    }
  }
  if (path.empty()) return {};
  return text("<path class=\"bar c", line.colour % kColours, "\" d=\"", path, "\"/>\n");
}

bool has_dots(const Line& line) {
  const bool are_few = line.points.size() <= kDotsUpTo && line.stroke == Stroke::dotted;
  return are_few || line.stroke == Stroke::points;
}

std::string dots(const Chart& chart, const Line& line, const Frame& frame) {
  if (!has_dots(line)) return {};
  std::string out;
  for (std::size_t at = 0; at < line.points.size(); ++at) {
    const double x = line.points.x[at], y = line.points.y[at];
    if (!std::isfinite(y)) continue;
    out += text("<circle class=\"c", line.colour % kColours, "\" cx=\"",
                svg_number(x_of(line, at, frame)), "\" cy=\"", svg_number(frame.y_position(y)),
                "\" r=\"2.6\"><title>", escaped(line.name), line.name.empty() ? "" : ", ",
                escaped(chart.x_label), " ", place_text(chart, x), ": ",
                chart_marks_value_text(line, at), "</title></circle>\n");
  }
  return out;
}

std::string crosses(const Chart& chart, const Frame& frame) {
  constexpr double kHalf = 4, kSpacing = 10;
  std::string out;
  for (std::size_t at = 0; at < chart.crosses.size(); ++at) {
    const auto& cross = chart.crosses[at];
    const auto is_at_same_x = [&](const Cross& other) { return other.at == cross.at; };
    const auto begin = chart.crosses.begin(), self = begin + static_cast<std::ptrdiff_t>(at);
    const auto all = std::count_if(begin, chart.crosses.end(), is_at_same_x);
    const auto before = std::count_if(begin, self, is_at_same_x);
    const double place = static_cast<double>(before) - static_cast<double>(all - 1) / 2;
    const double x = frame.x_position(cross.at) + kSpacing * place, y = frame.top() + kHalf;
    out += text("<path class=\"cross c", cross.colour % kColours, "\" d=\"M",
                point(x - kHalf, y - kHalf), 'L', point(x + kHalf, y + kHalf), 'M',
                point(x + kHalf, y - kHalf), 'L', point(x - kHalf, y + kHalf), "\"><title>",
                escaped(cross.title), "</title></path>\n");
  }
  return out;
}

std::string flags(const Chart& chart, const Frame& frame) {
  constexpr double kHalf = 4;
  std::string out;
  for (const auto& flag : chart.flags) {
    if (!(flag.at >= frame.x.low && flag.at <= frame.x.high)) continue;
    const double x = frame.x_position(flag.at);
    out += text("<path class=\"flag\" d=\"M", point(x, frame.top()), 'V',
                svg_number(frame.bottom()), 'M', point(x - kHalf, frame.top()), 'h',
                svg_number(2 * kHalf), "\"><title>", escaped(flag.title), "</title></path>\n");
  }
  return out;
}

std::string reference_line(const Reference& reference, const Frame& frame) {
  constexpr double kAbove = -5, kBelow = 14;
  const double y = frame.y_position(reference.at);
  const bool has_room_below = y + kBelow + kBaseline < frame.bottom();
  return text("<path class=\"reference\" d=\"M", svg_number(frame.left), ' ', svg_number(y), 'H',
              svg_number(frame.right()), "\"/><text class=\"end\" x=\"", svg_number(frame.right()),
              "\" y=\"", svg_number(y + (has_room_below ? kBelow : kAbove)), "\">",
              escaped(reference.label), "</text>\n");
}

}  // namespace evenkeel::report
