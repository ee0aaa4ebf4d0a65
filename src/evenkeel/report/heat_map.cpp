// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/report/chart_data.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"

namespace evenkeel::report {

namespace {

// Units of the view box, as those of a chart of half width.
constexpr double kWidth = 400, kLeft = 34, kRight = 8, kTop = 18, kBottom = 58;
constexpr double kLeastHeight = 48, kMostHeight = 220, kRow = 16;

/// Red, green and blue in 0 .. 255, sRGB.
struct Colour {
  double red, green, blue;
};
/// The colour scale from low to high: dark blue, teal, yellow. Lightness increases monotonically,
/// so it can be read with every kind of colour vision.
constexpr std::array<Colour, 5> kScale = {
    {{53, 42, 105}, {44, 92, 140}, {34, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

/// "#35...": the colour scale at a place in [0, 1], linear between its entries.
std::string heat_map_colour_of(double place) {
  const double at = std::clamp(place, 0.0, 1.0) * static_cast<double>(kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(at), kScale.size() - 2);
  const double part = at - static_cast<double>(below);
  const auto mix = [&](double Colour::* of) {
    return std::lround(kScale[below].*of + part * (kScale[below + 1].*of - kScale[below].*of));
  };
  std::array<char, 8> out{};
  std::snprintf(out.data(), out.size(), "#%02lx%02lx%02lx", mix(&Colour::red), mix(&Colour::green),
                mix(&Colour::blue));
  return out.data();
}

/// The range of the values that the colour scale covers.
struct ColourRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  bool logarithmic = false;

  double place(double value) const {
    if (!(high > low)) return 0.5;
    if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
    const double unit = std::isfinite(high - low) ? 1 : 0.5;
    return (unit * value - unit * low) / (unit * high - unit * low);
  }
};

/// The range of all finite values of the map and of `like`; logarithmic if they are positive and
/// span a factor above kWide.
ColourRange range_of(const LayerMap& map, const LayerMap* like) {
  constexpr double kWide = 20;
  ColourRange range;
  auto all = map.values;
  if (like != nullptr) {
    for (const auto& [step, values] : like->values) {
      auto& joined = all[step];
      joined.insert(joined.end(), values.begin(), values.end());
    }
  }
  for (const auto& [step, values] : all) {
    for (const auto value : values) {
      if (!std::isfinite(value)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  range.logarithmic = range.low > 0 && range.high > kWide * range.low;
  return range;
}

/// At most kHeatMapColumns of the probed steps, evenly spread over their list.
std::vector<double> shown_steps(const LayerMap& map) {
  std::vector<double> all, shown;
  for (const auto& [step, values] : map.values) all.push_back(step);
  const auto count = std::min(all.size(), kHeatMapColumns);
  for (std::size_t i = 0; i < count; ++i) {
    shown.push_back(count == 1 ? all[0] : all[i * (all.size() - 1) / (count - 1)]);
  }
  return shown;
}

/// A rectangle as SVG, with a tooltip. Lengths are units of the view box.
std::string rectangle(double x, double y, double width, double height, const std::string& fill,
                      const std::string& title) {
  return text("<rect x=\"", svg_number(x), "\" y=\"", svg_number(y), "\" width=\"",
              svg_number(width), "\" height=\"", svg_number(height), "\" fill=\"", fill,
              "\"><title>", title, "</title></rect>\n");
}

/// A text at (x, y). \param anchor  a CSS class: "start", "middle" or "end"
std::string heat_map_label(const char* anchor, double x, double y, const std::string& content) {
  return text("<text class=\"", anchor, "\" x=\"", svg_number(x), "\" y=\"", svg_number(y), "\">",
              escaped(content), "</text>\n");
}

/// The colour scale as SVG, with the values at both ends.
std::string colour_bar(const ColourRange& range, double y) {
  constexpr int kSteps = 40;
  constexpr double kBar = 160, kHigh = 8, kGap = 8, kBaseline = 8;
  const double left = (kWidth - kBar) / 2;
  std::string out;
  for (int i = 0; i < kSteps; ++i) {
    const double width = kBar / kSteps;
    out += text("<rect x=\"", svg_number(left + i * width), "\" y=\"", svg_number(y), "\" width=\"",
                svg_number(width + 1), "\" height=\"", svg_number(kHigh), "\" fill=\"",
                heat_map_colour_of((i + 0.5) / kSteps), "\"/>");
  }
  return out + "\n" + heat_map_label("end", left - kGap, y + kBaseline, with_digits(range.low, 3)) +
         heat_map_label("start", left + kBar + kGap, y + kBaseline,
                        with_digits(range.high, 3) + (range.logarithmic ? " (log)" : ""));
}

/// The label of a row.
std::string layer_name(std::int64_t layer) {
  return layer == 0 ? "embedding" : text("block ", layer);
}

/// The edges of the columns, from 0 to `width`: halfway between steps; equally wide columns if one
/// would be too thin.
std::vector<double> column_edges(const std::vector<double>& steps, double width) {
  constexpr double kThinnest = 2;
  const auto count = steps.size();
  std::vector<double> edges(count + 1);
  for (std::size_t i = 0; i <= count; ++i) {
    edges[i] = width * static_cast<double>(i) / static_cast<double>(count);
  }
  if (count < 2) return edges;
  auto scaled = edges;
  const double first = steps[0] - (steps[1] - steps[0]) / 2;
  const double last = steps[count - 1] + (steps[count - 1] - steps[count - 2]) / 2;
  for (std::size_t i = 1; i < count; ++i) {
    scaled[i] = width * ((steps[i - 1] + steps[i]) / 2 - first) / (last - first);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!(scaled[i + 1] - scaled[i] >= kThinnest)) return edges;
  }
  return scaled;
}

/// The layout of the cells: steps to the right, layers upwards.
struct Grid {
  std::vector<double> steps, edges;  // edges: of the columns
  std::size_t layers;
  double inside, row;  // height of all cells, and of one

  explicit Grid(const LayerMap& map) : steps(shown_steps(map)), layers(0) {
    for (const auto& [step, values] : map.values) layers = std::max(layers, values.size());
    inside = std::clamp(kRow * static_cast<double>(layers), kLeastHeight, kMostHeight);
    row = inside / static_cast<double>(layers);
    edges = column_edges(steps, kWidth - kLeft - kRight);
    for (auto& edge : edges) edge += kLeft;
  }
  double left_of(std::size_t step) const { return edges[step]; }
  double width_of(std::size_t step) const { return edges[step + 1] - edges[step]; }
  double middle_of(std::size_t step) const { return (edges[step] + edges[step + 1]) / 2; }
  double top_of(std::size_t layer) const {
    return kTop + inside - row * static_cast<double>(layer + 1);
  }
};

/// The cells as SVG. A value that is not finite has the colour of a failure. Each cell is 0.5 units
/// larger than its place, which hides gaps between neighbours.
std::string cells(const LayerMap& map, const Grid& grid, const ColourRange& range,
                  const std::string& x_label) {
  std::string out;
  for (std::size_t i = 0; i < grid.steps.size(); ++i) {
    const auto& values = map.values.at(grid.steps[i]);
    for (std::size_t l = 0; l < values.size(); ++l) {
      const bool is_finite = std::isfinite(values[l]);
      const auto tooltip = text(layer_name(map.first + static_cast<std::int64_t>(l)), ", ", x_label,
                                " ", with_commas(std::llround(grid.steps[i])), ": ",
                                is_finite ? with_digits(values[l], 3) : "not finite");
      out +=
          rectangle(grid.left_of(i), grid.top_of(l), grid.width_of(i) + 0.5, grid.row + 0.5,
                    is_finite ? heat_map_colour_of(range.place(values[l])) : "var(--bad)", tooltip);
    }
  }
  return out;
}

/// The cells of a large map as one path per colour, in 64 colours, without tooltips: some tens of
/// bytes per cell.
std::string dense_cells(const LayerMap& map, const Grid& grid, const ColourRange& range) {
  constexpr int kLevels = 64;
  std::map<int, std::string> paths;  // -1: not finite
  for (std::size_t i = 0; i < grid.steps.size(); ++i) {
    const auto& values = map.values.at(grid.steps[i]);
    for (std::size_t l = 0; l < values.size(); ++l) {
      const double place = std::clamp(range.place(values[l]), 0.0, 1.0);
      const int level =
          std::isfinite(values[l]) ? std::min(kLevels - 1, static_cast<int>(place * kLevels)) : -1;
      paths[level] += text('M', svg_number(grid.left_of(i)), ' ', svg_number(grid.top_of(l)), 'h',
                           svg_number(grid.width_of(i) + 0.5), 'v', svg_number(grid.row + 0.5), 'H',
                           svg_number(grid.left_of(i)), 'z');
    }
  }
  std::string out;
  for (const auto& [level, path] : paths) {
    const auto colour = level < 0 ? "var(--bad)" : heat_map_colour_of((level + 0.5) / kLevels);
    out += text("<path style=\"fill:", colour, "\" d=\"", path, "\"/>\n");
  }
  return out;
}

/// Tick labels, about six per axis, and the titles of both axes.
std::string heat_map_axes(const LayerMap& map, const Grid& grid, const std::string& x_label) {
  constexpr double kGap = 6, kDrop = 16, kDigit = 7,
                   kMiddle = 4;  // middle: of a digit, above its baseline
  std::string out = heat_map_label("start", 0, kTop - kGap, "block");
  const auto rows = std::max<std::size_t>(1, grid.layers / 6);
  for (std::size_t l = 0; l < grid.layers; l += rows) {
    out += heat_map_label("end", kLeft - kGap, grid.top_of(l) + grid.row / 2 + kMiddle,
                          std::to_string(map.first + static_cast<std::int64_t>(l)));
  }
  const double base = kTop + grid.inside + kDrop;
  out += heat_map_label("start", 0, base, x_label);
  const auto columns = std::max<std::size_t>(1, (grid.steps.size() + 5) / 6);
  double taken = 0;
  for (std::size_t i = 0; i < grid.steps.size(); i += columns) {
    const auto label = with_commas(std::llround(grid.steps[i]));
    const double half = kDigit * static_cast<double>(label.size()) / 2;
    const double x = std::min(grid.middle_of(i), kWidth - half);
    if (x - half < taken) continue;
    out += heat_map_label("middle", x, base, label);
    taken = x + half + kGap;
  }
  return out;
}

/// The heat map as `<svg>`: cells, labels of layers and steps, and the colour scale.
std::string heat_map_drawing(const LayerMap& map, const std::string& title,
                             const std::string& x_label, const ColourRange& range,
                             const Grid& grid) {
  constexpr double kBarDrop = 34;
  constexpr std::size_t kMostTooltips = 400;
  const bool is_dense = grid.steps.size() * grid.layers > kMostTooltips;
  return text("<svg viewBox=\"0 0 ", kWidth, ' ', svg_number(kTop + grid.inside + kBottom),
              "\" role=\"img\" aria-label=\"", escaped(title), "\">\n",
              is_dense ? dense_cells(map, grid, range) : cells(map, grid, range, x_label),
              heat_map_axes(map, grid, x_label), colour_bar(range, kTop + grid.inside + kBarDrop),
              "</svg>\n");
}

/// The values of the cells as JSON, for the script of the page.
std::string heat_map_data(const LayerMap& map, const std::string& title, const std::string& unit,
                          const std::string& x_label, const Grid& grid) {
  std::string values;
  for (const auto step : grid.steps) {
    values += text(values.empty() ? "" : ",", json_numbers(map.values.at(step)));
  }
  return json_script(text("{\"title\":", json_string(title), ",\"unit\":", json_string(unit),
                          ",\"x\":", json_string(x_label), ",\"first\":", map.first, ",\"steps\":",
                          json_numbers(grid.steps), ",\"edges\":", json_numbers(grid.edges),
                          ",\"bottom\":", svg_number(kTop + grid.inside),
                          ",\"row\":", svg_number(grid.row), ",\"cells\":[", values, "]}"));
}

}  // namespace

std::string heat_map(const LayerMap& map, const std::string& title, const std::string& unit,
                     const std::string& x_label, const LayerMap* like) {
  auto caption = element("strong", escaped(title));
  if (!unit.empty()) caption += text(' ', element("span", escaped(unit), "muted"));
  const auto range = range_of(map, like);
  const Grid grid(map);
  if (range.low == range.high) {
    const auto all = text(with_digits(range.low, 3), " in all blocks, at every ", x_label, ".");
    return element("figure", element("figcaption", caption) + element("p", escaped(all), "below")) +
           "\n";
  }
  return element("figure",
                 element("figcaption", caption) + "\n" +
                     element("div", heat_map_drawing(map, title, x_label, range, grid), "scroll") +
                     heat_map_data(map, title, unit, x_label, grid)) +
         "\n";
}

}  // namespace evenkeel::report
