// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_canvas.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/kinds.h"

namespace evenkeel::report {

void BlockCanvas::flow(BlockColumn& column, double by) {
  wire({{column.x, column.y}, {column.x, column.y - by}}, "flow");
  column.y -= by;
}

void BlockCanvas::line(BlockColumn& column, double by) {
  wire({{column.x, column.y}, {column.x, column.y - by}}, "flow", false);
  column.y -= by;
}

void BlockCanvas::put(BlockColumn& column, const BoxText& box) {
  flow(column);
  box_at({column.x, column.y - kBoxHeight / 2}, box);
  column.y -= kBoxHeight;
}

void BlockCanvas::put_norm(BlockColumn& column, const std::optional<norm::Norm>& norm,
                           const std::string& slot, const std::string& role) {
  if (norm) put(column, norm_box(*norm, slot, role));
}

void BlockCanvas::put_scale(BlockColumn& column, const norm::Number& factor,
                            const std::string& of_what) {
  if (factor == norm::Number(norm::Expression(1))) return;
  put(column, {notes.factor(factor), "scale", "factor " + of_what});
}

void BlockCanvas::put_sum(BlockColumn& column) {
  flow(column);
  box_at({column.x, column.y - kSumRadius}, {"", "sum", "sum", 2 * kSumRadius}, 2 * kSumRadius);
  column.y -= 2 * kSumRadius;
}

void BlockCanvas::box_at(PicturePoint at, const BoxText& box, double height) {
  constexpr double kPadding = 9;
  const double fitting = picture_text_width(box.label, kPictureFont) + 2 * kPadding;
  picture.boxes.push_back(
      {at.x, at.y, box.width > 0 ? box.width : fitting, height, box.label, box.role, box.title});
}

BlockCanvas::BoxText BlockCanvas::norm_box(const norm::Norm& norm, const std::string& slot,
                                           const std::string& role, double width) {
  const auto details = norm_details(norm);
  const auto* const title = norm::row_of(norm.kind).title;
  return {title + notes.mark(details), "norm " + role,
          text(slot, ": ", title, norm.scope == norm::Scope::head ? " per head" : "",
               details.empty() ? "" : ", ", details),
          width};
}

void BlockCanvas::wire(std::vector<PicturePoint> points, const std::string& role, bool has_arrow) {
  picture.wires.push_back({std::move(points), has_arrow, role});
}

void BlockCanvas::raise_second(double y, bool has_arrow) {
  wire({{kSecondAt, second_y}, {kSecondAt, y}}, "second", has_arrow);
  second_y = y;
}

void BlockCanvas::close_second(double y) {
  if (has_second) raise_second(y, true);
  has_second = false;
}

double BlockCanvas::left() const {
  double out = -kHalfSublayer - kFrameMargin;
  for (const auto& each : picture.frames) out = std::min(out, each.left);
  for (const auto& wire : picture.wires) {
    for (const auto& each : wire.points) out = std::min(out, each.x);
  }
  return out;
}

double BlockCanvas::right() const {
  double out = kHalfSublayer + kFrameMargin;
  for (const auto& each : picture.frames) out = std::max(out, each.right);
  for (const auto& wire : picture.wires) {
    for (const auto& each : wire.points) out = std::max(out, each.x);
  }
  return out;
}

}  // namespace evenkeel::report
