// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/svg_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/report/chart.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/style_sheet.h"

namespace evenkeel::report {

namespace {

/// The text between two marks, from `at` on; nullopt if one of them is missing. `at` is then after
/// the second one.
std::optional<std::string_view> text_between(std::string_view text, std::string_view begin,
                                             std::string_view end, std::size_t& at) {
  const auto first = text.find(begin, at);
  if (first == std::string_view::npos) return std::nullopt;
  const auto from = first + begin.size(), last = text.find(end, from);
  if (last == std::string_view::npos) return std::nullopt;
  at = last + end.size();
  return text.substr(from, last - from);
}

std::string_view first_text_between(std::string_view text, std::string_view begin,
                                    std::string_view end) {
  std::size_t at = 0;
  return text_between(text, begin, end, at).value_or("");
}

/// Whether a rule of the style sheet is for what is in an `<svg>`.
bool is_for_shapes(std::string_view selector) {
  constexpr std::array kBegins = {"svg ", "path", "rect.", "circle.", ".band"};
  return std::ranges::any_of(kBegins,
                             [&](std::string_view begin) { return selector.starts_with(begin); });
}

/// The end of the block that begins with the brace at `at`.
std::size_t end_of_block(std::string_view sheet, std::size_t at) {
  int depth = 0;
  for (; at < sheet.size(); ++at) {
    if (sheet[at] == '{') ++depth;
    if (sheet[at] == '}' && --depth == 0) return at + 1;
  }
  return at;
}

/// The rules of the style sheet that an `<svg>` needs, without those of dark screens and of print.
std::string svg_rules() {
  const auto sheet = style_sheet();
  std::string out;
  for (std::size_t at = sheet.find_first_not_of(" \n"); at < sheet.size();
       at = sheet.find_first_not_of(" \n", at)) {
    const auto end = end_of_block(sheet, sheet.find('{', at));
    const auto rule = sheet.substr(at, end - at);
    if (is_for_shapes(rule)) out += text(rule, '\n');
    at = end;
  }
  return out + "text { font-family: sans-serif; } .title { font-weight: 600; fill: var(--ink); }\n";
}

/// "Validation loss, layers 16" -> "validation_loss_layers_16"
std::string svg_stem(std::string_view title) {
  std::string out;
  for (const unsigned char each : title) {
    if (std::isalnum(each) != 0) {
      out += static_cast<char>(std::tolower(each));
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  return out.empty() ? "figure" : out;
}

constexpr double kSvgRow = 18;       // height of a line of text
constexpr double kSvgLetter = 6.6;   // average width of a letter of 12 pixels
constexpr double kSvgSwatch = 34;    // width of a line of the legend and its gap
constexpr double kSvgGap = 18;       // two entries of the legend
constexpr double kSvgBaseline = 13;  // from the top of a row to the baseline

/// The entries of the legend of a figure; "" if it has none.
std::string_view legend_entries(std::string_view figure) {
  return first_text_between(figure, "<ul class=\"legend\">", "</ul>");
}

/// True for figures whose legend is that of the one above, as figure() marks them.
bool shares_legend(std::string_view figure) {
  return figure.substr(0, figure.find('>')).find(kSharesLegend) != std::string_view::npos;
}

/// A legend from `y` on, with as many rows as it needs.
/// \param list  legend_entries()
/// \param y     set to the end of the last row
std::string svg_legend(std::string_view list, double width, double& y) {
  std::string out;
  double x = 0;
  std::size_t at = 0;
  while (const auto item = text_between(list, "<li>", "</li>", at)) {
    const auto name = item->substr(item->find("</svg>") + std::string_view("</svg>").size());
    const auto shape = first_text_between(*item, "viewBox=\"0 0 28 10\">", "</svg>");
    const double wide = kSvgSwatch + kSvgLetter * static_cast<double>(name.size());
    if (x > 0 && x + wide > width) {
      x = 0;
      y += kSvgRow;
    }
    out += text("<g transform=\"translate(", svg_number(x), ' ', svg_number(y + 4), ")\">", shape,
                "</g><text x=\"", svg_number(x + kSvgSwatch), "\" y=\"",
                svg_number(y + kSvgBaseline), "\">", name, "</text>\n");
    x += wide + kSvgGap;
  }
  if (!out.empty()) y += kSvgRow;
  return out;
}

/// Width and height of a view box "820 300".
std::optional<std::pair<double, double>> view_box_size(std::string_view box) {
  std::pair<double, double> size;
  std::istringstream numbers{std::string(box)};
  numbers >> size.first >> size.second;
  return numbers ? std::optional(size) : std::nullopt;
}

/// One figure as SVG; "" if it has no picture.
/// \param legend  legend_entries()
std::string svg_of(std::string_view figure, std::string_view title, std::string_view legend) {
  const auto scroll = figure.find("<div class=\"scroll\">");
  if (scroll == std::string_view::npos) return "";
  const auto picture = figure.substr(scroll);
  const auto size = view_box_size(first_text_between(picture, "<svg viewBox=\"0 0 ", "\""));
  if (!size) return "";
  const auto opening = picture.find("<svg viewBox="), begin = picture.find('>', opening) + 1;
  const auto drawing = picture.substr(begin, picture.rfind("</svg>") - begin);
  const auto unit = first_text_between(figure, "<span class=\"muted\">", "</span>");
  const auto [width, height] = *size;
  double top = kSvgRow;
  auto head =
      text("<text class=\"title\" x=\"0\" y=\"", svg_number(kSvgBaseline), "\">", title,
           "<tspan font-weight=\"400\">", unit.empty() ? "" : "  ", unit, "</tspan></text>\n");
  head += svg_legend(legend, width, top);
  const auto whole = top + height;
  constexpr double kLetter = 7;  // of the title, px
  const auto wide = std::max(width, kLetter * static_cast<double>(title.size() + unit.size() + 2));
  const auto svg = text(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" ",
      "viewBox=\"0 0 ", svg_number(wide), ' ', svg_number(whole), "\" width=\"", svg_number(wide),
      "\" height=\"", svg_number(whole), "\" role=\"img\">\n<title>", title, "</title>\n<style>\n",
      svg_rules(), "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", head,
      "<g transform=\"translate(0 ", svg_number(top), ")\">\n", drawing, "</g>\n</svg>\n");
  const auto sheet = style_sheet();  // begins with the light colours
  return without_variables(svg, sheet.substr(0, sheet.find('}')));
}

}  // namespace

std::vector<SvgFile> svg_files(std::string_view html) {
  std::vector<SvgFile> files;
  std::map<std::string, int> counts;
  std::string_view legend;  // of the last figure that did not share one
  std::size_t at = 0;
  while (const auto figure = text_between(html, "<figure", "</figure>", at)) {
    const auto title = first_text_between(*figure, "<strong>", "</strong>");
    if (!shares_legend(*figure)) legend = legend_entries(*figure);
    auto content = svg_of(*figure, title, legend);
    if (content.empty()) continue;
    auto name = svg_stem(title);
    if (const auto count = ++counts[name]; count > 1) name += text('_', count);
    files.push_back({name + ".svg", std::move(content)});
  }
  return files;
}

}  // namespace evenkeel::report
