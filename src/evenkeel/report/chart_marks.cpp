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

double x_of(const Line& line, std::size_t at, const Frame& frame) {
  return frame.across(line.points.x[at]) + line.shift;
}

std::string point(double x, double y) {
  return text(unit(x), ' ', unit(y));
}

bool has_spread(const Line& line, std::size_t at, Spread::As as) {
  return line.spread.as == as && at < line.spread.high.size() &&
         std::isfinite(line.spread.high[at]) && std::isfinite(line.points.y[at]);
}

/// Where an end lies; the lower edge where a logarithm cannot show it.
double low_end(const Line& line, std::size_t at, const Frame& frame) {
  const double low = line.spread.low[at];
  return std::isfinite(low) ? frame.down(low) : frame.bottom();
}

/// A value of the horizontal axis: its label there, or the number.
std::string place_text(const Chart& chart, double x) {
  for (const auto& tick : chart.ticks_across) {
    if (tick.at == x) return tick.label;
  }
  constexpr int kDigits = 6;
  return x == std::round(x) ? with_commas(std::llround(x)) : with_digits(x, kDigits);
}

std::string value_text(const Line& line, std::size_t at) {
  constexpr int kDecimals = 4, kDigits = 5;
  const double y = line.points.y[at];
  if (has_spread(line, at, Spread::As::bars)) {
    return text(with_digits(y, kDigits), " [", with_digits(line.spread.low[at], kDigits), ", ",
                with_digits(line.spread.high[at], kDigits), "]");
  }
  return line.stroke == Stroke::points ? with_digits(y, kDigits) : fixed(y, kDecimals);
}

}  // namespace

Line thinned(const Line& line, std::size_t buckets) {
  auto out = line;
  if (line.spread.high.empty()) {
    out.points = thinned(line.points, buckets);
    return out;
  }
  out.points = {};
  out.spread.low.clear();
  out.spread.high.clear();
  for (const auto at :
       kept_points({&line.points.y, &line.spread.low, &line.spread.high}, buckets)) {
    out.points.add(line.points.x[at], line.points.y[at]);
    out.spread.low.push_back(line.spread.low[at]);
    out.spread.high.push_back(line.spread.high[at]);
  }
  return out;
}

std::string classes_of(const Line& line) {
  return text('c', line.colour % kColours, " d", line.dash % kDashes,
              line.stroke == Stroke::faint ? " faint" : "");
}

/// A dot is a line of no length with round ends.
std::string curve(const Line& line, const Frame& frame) {
  if (line.stroke == Stroke::points) return {};
  const auto& points = line.points;
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
    path += (down ? 'L' : 'M') + point(x_of(line, at, frame), frame.down(points.y[at]));
    if (!down && !is_point(at + 1)) path += "h0";
    down = true;
  }
  return text("<path class=\"line ", classes_of(line), "\" d=\"", path, "\"/>\n");
}

std::string band(const Line& line, const Frame& frame) {
  std::string path;
  const auto is_inside = [&](std::size_t at) { return has_spread(line, at, Spread::As::band); };
  for (std::size_t begin = 0; begin < line.points.size(); ++begin) {
    if (!is_inside(begin)) continue;
    auto end = begin;
    std::string there, back;
    for (; is_inside(end); ++end) {
      const double x = x_of(line, end, frame);
      there += (end == begin ? 'M' : 'L') + point(x, frame.down(line.spread.high[end]));
      back = 'L' + point(x, low_end(line, end, frame)) + back;
    }
    path += there + back + 'Z';
    begin = end;
  }
  if (path.empty()) return {};
  return text("<path class=\"band c", line.colour % kColours, "\" d=\"", path, "\"/>\n");
}

std::string bars(const Line& line, const Frame& frame) {
  constexpr double kHalfEnd = 3;
  std::string path;
  for (std::size_t at = 0; at < line.points.size(); ++at) {
    if (!has_spread(line, at, Spread::As::bars)) continue;
    const double x = x_of(line, at, frame);
    const double high = frame.down(line.spread.high[at]), low = low_end(line, at, frame);
    path +=
        text('M', point(x, std::max(high, frame.top())), 'V', unit(std::min(low, frame.bottom())));
    for (const double y : {high, low}) {
      if (y < frame.top() || y >= frame.bottom()) continue;
      path += text('M', point(x - kHalfEnd, y), 'h', unit(2 * kHalfEnd));
    }
  }
  if (path.empty()) return {};
  return text("<path class=\"bar c", line.colour % kColours, "\" d=\"", path, "\"/>\n");
}

std::string dots(const Chart& chart, const Line& line, const Frame& frame) {
  const bool are_few = line.points.size() <= kDotsUpTo && line.stroke == Stroke::dotted;
  if (!are_few && line.stroke != Stroke::points) return {};
  std::string out;
  for (std::size_t at = 0; at < line.points.size(); ++at) {
    const double x = line.points.x[at], y = line.points.y[at];
    if (!std::isfinite(y)) continue;
    out +=
        text("<circle class=\"c", line.colour % kColours, "\" cx=\"", unit(x_of(line, at, frame)),
             "\" cy=\"", unit(frame.down(y)), "\" r=\"2.6\"><title>", escaped(line.name),
             line.name.empty() ? "" : ", ", escaped(chart.across), " ", place_text(chart, x), ": ",
             value_text(line, at), "</title></circle>\n");
  }
  return out;
}

std::string crosses(const Chart& chart, const Frame& frame) {
  constexpr double kHalf = 4, kApart = 10;
  std::string out;
  for (std::size_t at = 0; at < chart.crosses.size(); ++at) {
    const auto& cross = chart.crosses[at];
    const auto is_beside = [&](const Cross& other) { return other.at == cross.at; };
    const auto begin = chart.crosses.begin(), self = begin + static_cast<std::ptrdiff_t>(at);
    const auto all = std::count_if(begin, chart.crosses.end(), is_beside);
    const auto before = std::count_if(begin, self, is_beside);
    const double place = static_cast<double>(before) - static_cast<double>(all - 1) / 2;
    const double x = frame.across(cross.at) + kApart * place, y = frame.top() + kHalf;
    out += text("<path class=\"cross c", cross.colour % kColours, "\" d=\"M",
                point(x - kHalf, y - kHalf), 'L', point(x + kHalf, y + kHalf), 'M',
                point(x + kHalf, y - kHalf), 'L', point(x - kHalf, y + kHalf), "\"><title>",
                escaped(cross.title), "</title></path>\n");
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

}  // namespace evenkeel::report
