// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/row_figure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

// Units of the view box.
constexpr double kRowFigureTop = 8, kRowFigureBottom = 30, kRowFigureRow = 20;
constexpr double kLetter = 6.6, kRowFigureGap = 10, kWidestName = 330;

/// The bar of an interval. An end outside the frame becomes an arrowhead at the edge.
std::string interval_path(double low, double high, const RowFrame& frame, double y) {
  constexpr double kHalfEnd = 4, kHead = 5;
  const auto inside = [&](double value) {
    return frame.x_position(std::clamp(value, frame.axis.low, frame.axis.high));
  };
  auto path = text('M', svg_number(inside(low)), ' ', svg_number(y), 'H', svg_number(inside(high)));
  for (const double value : {low, high}) {
    if (!frame.contains(value)) continue;
    path += text('M', svg_number(inside(value)), ' ', svg_number(y - kHalfEnd), 'v',
                 svg_number(2 * kHalfEnd));
  }
  const auto head = [&](double x, double back) {
    return text('M', svg_number(x + back), ' ', svg_number(y - kHalfEnd), 'L', svg_number(x), ' ',
                svg_number(y), 'L', svg_number(x + back), ' ', svg_number(y + kHalfEnd));
  };
  if (low < frame.axis.low) path += head(frame.left, kHead);
  if (high > frame.axis.high) path += head(frame.right, -kHead);
  return path;
}

/// One figure with the rows from `first` on.
std::string row_figure(const RowFigure& figure, const RowFrame& frame, std::size_t first,
                       std::size_t rows, const std::string& title) {
  constexpr double kSmallest = 11.0 / 12.0;  // of the font, as in charts
  constexpr double kTickDrop = 15;
  const double bottom = kRowFigureTop + kRowFigureRow * static_cast<double>(rows);
  const auto line_at = [&](const char* kind, double value) {
    return text("<path class=\"", kind, "\" d=\"M", svg_number(frame.x_position(value)), ' ',
                svg_number(kRowFigureTop), 'V', svg_number(bottom), "\"/>\n");
  };
  std::string inside;
  for (const auto& tick : frame.axis.ticks) {
    if (tick.at != figure.zero) inside += line_at("grid", tick.at);
    inside += row_label("middle", frame.x_position(tick.at), bottom + kTickDrop, tick.label);
  }
  inside += line_at("axis", figure.zero);
  for (std::size_t row = 0; row < rows; ++row) {
    inside +=
        figure.draw(first + row, kRowFigureTop + kRowFigureRow * (static_cast<double>(row) + 0.5));
  }
  const auto picture = text("<svg viewBox=\"0 0 ", kRowWidth, ' ', bottom + kRowFigureBottom,
                            "\" role=\"img\" aria-label=\"", escaped(title),
                            "\" style=\"min-width:", std::lround(kRowWidth * kSmallest), "px\">\n",
                            inside, "</svg>\n");
  auto caption =
      element("strong", escaped(title)) + " " + element("span", escaped(figure.unit), "muted");
  if (first == 0 && !figure.note.empty()) caption += element("p", escaped(figure.note));
  if (first == 0) caption += figure.legend;
  return element("figure",
                 element("figcaption", caption) + "\n" + element("div", picture, "scroll"),
                 "wide") +
         "\n";
}

}  // namespace

RowFrame row_frame(const std::vector<std::string>& names, double numbers, Axis axis) {
  std::size_t longest = 0;
  for (const auto& name : names) longest = std::max(longest, name.size());
  const double widest = std::min(kWidestName, kLetter * static_cast<double>(longest));
  return {widest + kRowFigureGap, kRowWidth - numbers - kRowFigureGap, std::move(axis)};
}

std::string row_label(const char* anchor, double x, double y, const std::string& label,
                      const std::string& tooltip) {
  const auto title = tooltip.empty() ? "" : element("title", escaped(tooltip));
  return text("<text class=\"", anchor, "\" x=\"", svg_number(x), "\" y=\"",
              svg_number(y + kBaseline), "\">", escaped(label), title, "</text>\n");
}

std::string row_name(const std::string& name, const RowFrame& frame, double y) {
  const auto room = static_cast<std::size_t>((frame.left - kRowFigureGap) / kLetter) + 1;
  if (name.size() <= room) return row_label("name", 0, y, name);
  auto cut = room - 1;
  while (cut > 0 && (static_cast<unsigned char>(name[cut]) & 0xC0) == 0x80) --cut;  // within UTF-8
  return row_label("name", 0, y, name.substr(0, cut) + "…", name);
}

std::string interval_mark(const char* colour, double low, double value, double high,
                          const RowFrame& frame, double y, const std::string& label) {
  auto out =
      text("<path class=\"bar ", colour, "\" d=\"", interval_path(low, high, frame, y), "\"/>\n");
  if (!frame.contains(value)) return out;
  const auto title = label.empty() ? "" : element("title", escaped(label));
  return out + text("<circle class=\"", colour, "\" cx=\"", svg_number(frame.x_position(value)),
                    "\" cy=\"", svg_number(y), "\" r=\"3.4\">", title, "</circle>\n");
}

std::string row_figures(const RowFigure& figure, const RowFrame& frame) {
  constexpr std::size_t kMost = 45;  // of a printed page
  const auto figures = (figure.rows + kMost - 1) / kMost;
  std::string out;
  for (std::size_t at = 0; at < figures; ++at) {
    const auto first = at * kMost;
    const auto part = figures == 1 ? "" : text(", ", at + 1, " of ", figures);
    out +=
        row_figure(figure, frame, first, std::min(figure.rows - first, kMost), figure.title + part);
  }
  return out;
}

}  // namespace evenkeel::report
