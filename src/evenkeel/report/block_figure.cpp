// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_figure.h"

#include <cmath>

#include "evenkeel/base/error.h"
#include "evenkeel/report/block_picture.h"
#include "evenkeel/report/chart_frame.h"
#include "evenkeel/report/html.h"
#include "evenkeel/report/style_sheet.h"

namespace evenkeel::report {

namespace {

constexpr std::string_view kLightColours = R"css(
  --paper: #ffffff; --ink: #1b1f24; --muted: #5c6570; --rule: #c3c9d1; --raised: #f6f7f9;
  --n-input: #cfe3f5; --n-heads: #cdeadd; --n-context: #e6d9f0; --n-output: #fde6b8;
  --n-residual: #f9d3c4; --n-other: #e3e6ea;
)css";

double length_of(PicturePoint from, PicturePoint to) {
  return std::hypot(to.x - from.x, to.y - from.y);
}

/// "M1.0 2.0L3.0 4.0" with rounded corners.
std::string path_of(const PictureWire& wire) {
  constexpr double kCorner = 6;
  std::string out =
      text('M', svg_number(wire.points.front().x), ' ', svg_number(wire.points.front().y));
  const auto toward = [](PicturePoint from, PicturePoint to) {
    const double length = length_of(from, to);
    const double part = length > 0 ? std::fmin(kCorner, length / 2) / length : 0;
    return PicturePoint{from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)};
  };
  for (std::size_t at = 1; at < wire.points.size(); ++at) {
    const auto here = wire.points[at];
    if (at + 1 == wire.points.size()) {
      out += text('L', svg_number(here.x), ' ', svg_number(here.y));
      continue;
    }
    const auto before = toward(here, wire.points[at - 1]),
               after = toward(here, wire.points[at + 1]);
    out += text('L', svg_number(before.x), ' ', svg_number(before.y), 'Q', svg_number(here.x), ' ',
                svg_number(here.y), ' ', svg_number(after.x), ' ', svg_number(after.y));
  }
  return out;
}

/// The arrowhead at the end of a wire, as a filled triangle.
std::string head_of(const PictureWire& wire) {
  constexpr double kLength = 6, kHalfWidth = 3;
  const auto end = wire.points.back(), before = wire.points[wire.points.size() - 2];
  const double length = length_of(before, end);
  if (!wire.has_arrow || !(length > 0)) return "";
  const double dx = (end.x - before.x) / length, dy = (end.y - before.y) / length;
  const double x = end.x - kLength * dx, y = end.y - kLength * dy;
  return text("<path class=\"head ", wire.role, "\" d=\"M", svg_number(end.x), ' ',
              svg_number(end.y), 'L', svg_number(x - kHalfWidth * dy), ' ',
              svg_number(y + kHalfWidth * dx), 'L', svg_number(x + kHalfWidth * dy), ' ',
              svg_number(y - kHalfWidth * dx), "Z\"/>\n");
}

std::string wire_marks(const PictureWire& wire) {
  const auto path = path_of(wire);
  auto out = wire.role == "over" ? text("<path class=\"halo\" d=\"", path, "\"/>\n") : "";
  return out + text("<path class=\"wire ", wire.role, "\" d=\"", path, "\"/>\n") + head_of(wire);
}

std::string frame_marks(const PictureFrame& frame) {
  return text("<rect class=\"", frame.role, "\" x=\"", svg_number(frame.left), "\" y=\"",
              svg_number(frame.top), "\" width=\"", svg_number(frame.right - frame.left),
              "\" height=\"", svg_number(frame.bottom - frame.top), "\" rx=\"8\"/>\n");
}

std::string box_marks(const PictureBox& box) {
  const auto title = box.title.empty() ? "" : element("title", escaped(box.title));
  if (box.role == "sum") {
    constexpr double kArm = 4;
    return text("<g>", title, "<circle class=\"sum\" cx=\"", svg_number(box.x), "\" cy=\"",
                svg_number(box.y), "\" r=\"", svg_number(box.width / 2),
                "\"/><path class=\"plus\" d=\"M", svg_number(box.x - kArm), ' ', svg_number(box.y),
                'h', svg_number(2 * kArm), 'M', svg_number(box.x), ' ', svg_number(box.y - kArm),
                'v', svg_number(2 * kArm), "\"/></g>\n");
  }
  const auto radius = box.role == "scale" ? box.height / 2 : 4;
  const bool is_small = picture_text_width(box.label, kPictureFont) > box.width - 2;
  return text("<g>", title, "<rect class=\"box ", box.role, "\" x=\"",
              svg_number(box.x - box.width / 2), "\" y=\"", svg_number(box.y - box.height / 2),
              "\" width=\"", svg_number(box.width), "\" height=\"", svg_number(box.height),
              "\" rx=\"", svg_number(radius), "\"/><text class=\"box-text",
              is_small ? " small" : "", "\" x=\"", svg_number(box.x), "\" y=\"",
              svg_number(box.y + kBaseline), "\">", escaped(box.label), "</text></g>\n");
}

std::string marks(const BlockPicture& picture) {
  std::string out;
  for (const auto& each : picture.frames) out += frame_marks(each);
  for (const auto& each : picture.wires) {
    if (each.role != "over") out += wire_marks(each);
  }
  for (const auto& each : picture.wires) {
    if (each.role == "over") out += wire_marks(each);
  }
  for (const auto& each : picture.dots) {
    out += text("<circle class=\"fork\" cx=\"", svg_number(each.at.x), "\" cy=\"",
                svg_number(each.at.y), "\" r=\"2.4\"/>\n");
  }
  for (const auto& each : picture.boxes) out += box_marks(each);
  for (const auto& each : picture.texts) {
    out += text("<text class=\"", each.role, "\" x=\"", svg_number(each.at.x), "\" y=\"",
                svg_number(each.at.y), "\">", escaped(each.content), "</text>\n");
  }
  return out;
}

std::string opening(const BlockPicture& picture, const norm::Scheme& scheme,
                    const std::string& more) {
  const auto name = scheme.info.title.empty() ? scheme.info.name : scheme.info.title;
  return text("<svg class=\"scheme\" viewBox=\"0 0 ", svg_number(picture.width), ' ',
              svg_number(picture.height), "\"", more, " role=\"img\" aria-label=\"",
              escaped("Blocks of the scheme " + name), "\">\n");
}

}  // namespace

std::string_view block_style() {
  return R"css(.scheme text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
  Helvetica, Arial, sans-serif; fill: var(--ink); }
.scheme .box-text { font-size: 11.5px; text-anchor: middle; }
.scheme .box-text.small { font-size: 9.5px; }
.scheme .block-name { font-size: 12.5px; font-weight: 600; }
.scheme .note { font-size: 10.5px; fill: var(--muted); }
.scheme .box { stroke: var(--ink); stroke-width: 1; fill: var(--paper); }
.scheme .linear { fill: var(--raised); } .scheme .core { stroke-width: 1.6; }
.scheme .scale, .scheme .step { fill: var(--paper); stroke-dasharray: 3 2; }
.scheme .input { fill: var(--n-input); } .scheme .heads { fill: var(--n-heads); }
.scheme .context { fill: var(--n-context); } .scheme .output { fill: var(--n-output); }
.scheme .residual { fill: var(--n-residual); stroke-width: 1.6; } .scheme .other { fill: var(--n-other); }
.scheme .wire { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.scheme .wire.skip { stroke-width: 1.9; } .scheme .wire.second { stroke-dasharray: 5 3; }
.scheme .head { fill: var(--ink); stroke: none; } .scheme .halo { fill: none; stroke: var(--paper); stroke-width: 7; }
.scheme .sum { fill: var(--paper); stroke: var(--ink); stroke-width: 1.3; }
.scheme .plus { fill: none; stroke: var(--ink); stroke-width: 1.3; }
.scheme .fork { fill: var(--ink); stroke: none; }
.scheme .block { fill: none; stroke: var(--rule); stroke-width: 1.3; }
.scheme .sublayer { fill: none; stroke: var(--rule); stroke-width: 1; stroke-dasharray: 4 3; }
)css";
}

std::string block_figure(const norm::Scheme& scheme) {
  const auto picture = block_picture(scheme);
  const auto size = text(" style=\"width:", svg_number(picture.width), "px;max-width:none\"");
  return opening(picture, scheme, size) + marks(picture) + "</svg>\n";
}

std::string block_svg(const norm::Scheme& scheme) {
  const auto picture = block_picture(scheme);
  const auto more =
      text(" xmlns=\"http://www.w3.org/2000/svg\" width=\"", svg_number(picture.width),
           "\" height=\"", svg_number(picture.height), "\"");
  return text(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- SPDX-License-Identifier: Apache-2.0 -->\n",
      opening(picture, scheme, more), "<style>\n", without_variables(block_style(), kLightColours),
      "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", marks(picture),
      "</svg>\n");
}

}  // namespace evenkeel::report
