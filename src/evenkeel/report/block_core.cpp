// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_core.h"

#include <array>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"

namespace evenkeel::report {

namespace {

constexpr double kWideBox = 2 * kHalfSublayer;
constexpr double kCoreMargin = 8;  // of the frame
constexpr double kSplit = 9;       // from the frame to the line that feeds the projections
constexpr double kShortGap = 11;   // between a projection and its norm

/// A projection and its norm.
struct Projection {
  const char* label;
  const std::optional<norm::Norm>* norm;  // nullptr: the slot does not exist
  std::string slot;
};

/// Projections of one input, next to each other; wires lead from each to the height of the last
/// box, where the next box must begin.
void put_projections(BlockCanvas& canvas, BlockColumn& column,
                     const std::vector<Projection>& projections) {
  constexpr double kBetween = 6;
  const auto count = static_cast<double>(projections.size());
  const double width = (kWideBox - kBetween * (count - 1)) / count;
  canvas.line(column, kSplit);
  const double split = column.y;
  double top = split;
  std::vector<BlockColumn> columns;
  for (std::size_t at = 0; at < projections.size(); ++at) {
    const auto& each = projections[at];
    const double offset = (static_cast<double>(at) - (count - 1) / 2) * (width + kBetween);
    BlockColumn own{column.x + offset, split};
    canvas.wire({{column.x, split}, {own.x, split}, {own.x, split - kShortGap}}, "flow");
    own.y -= kShortGap + kBoxHeight;
    canvas.box_at({own.x, own.y + kBoxHeight / 2}, {each.label, "linear", "projection", width});
    if (each.norm != nullptr && *each.norm) {
      canvas.flow(own, kShortGap);
      own.y -= kBoxHeight;
      canvas.box_at({own.x, own.y + kBoxHeight / 2},
                    canvas.norm_box(**each.norm, each.slot, "heads", width));
    }
    top = std::min(top, own.y);
    columns.push_back(own);
  }
  for (const auto& own : columns) {
    canvas.wire({{own.x, own.y}, {own.x, top - kShortGap}}, "flow");
  }
  column.y = top - kShortGap;
}

/// A wide box directly at the end of a column.
void put_wide(BlockCanvas& canvas, BlockColumn& column, const std::string& label,
              const std::string& role) {
  canvas.box_at({column.x, column.y - kBoxHeight / 2}, {label, role, "", kWideBox});
  column.y -= kBoxHeight;
}

/// A frame around all that a column gained since `bottom`.
void put_frame(BlockCanvas& canvas, BlockColumn& column, double bottom) {
  canvas.line(column, kCoreMargin);
  canvas.picture.frames.push_back({column.x - kHalfSublayer - kCoreMargin, column.y,
                                   column.x + kHalfSublayer + kCoreMargin, bottom, "sublayer"});
}

/// The note on the scores of attention; "" for plain ones.
std::string scores_note(const norm::Attention& attention) {
  std::string out;
  if (attention.score_scale) {
    out = "scores q·k × (" + formula_text(norm::describe(*attention.score_scale)) + ")";
  }
  if (attention.softcap) {
    const auto limit = formula_text(attention.softcap->formula());
    out = norm::joined(out, text("scores: soft cap ", limit, " · tanh(score / ", limit, ")"), "; ");
  }
  return out;
}

}  // namespace

void put_attention(BlockCanvas& canvas, BlockColumn& column, const norm::Attention& attention) {
  canvas.line(column, kBoxGap);
  const double bottom = column.y;
  put_projections(canvas, column,
                  {{"Q", &attention.q, "attention.q"},
                   {"K", &attention.k, "attention.k"},
                   {"V", &attention.v, "attention.v"}});
  put_wide(canvas, column, "Attention" + canvas.notes.mark(scores_note(attention)), "core");
  canvas.put_norm(column, attention.context, "attention.context", "context");
  canvas.flow(column, kShortGap);
  put_wide(canvas, column, "Output", "linear");
  put_frame(canvas, column, bottom);
}

void put_feed_forward(BlockCanvas& canvas, BlockColumn& column, const norm::FeedForward& parts,
                      const norm::Experts* experts) {
  canvas.line(column, kBoxGap);
  const double bottom = column.y;
  if (experts != nullptr) {
    canvas.flow(column, kShortGap);
    put_wide(canvas, column, "Router: " + norm::describe(*experts), "core");
  }
  put_projections(canvas, column, {{"Gate", nullptr, ""}, {"Up", nullptr, ""}});
  std::string note;
  if (parts.up_gate_scale) {
    note = "outputs of Gate and Up × (" + formula_text(norm::describe(*parts.up_gate_scale)) + ")";
  }
  put_wide(canvas, column, "SwiGLU" + canvas.notes.mark(note), "core");
  canvas.put_norm(column, parts.hidden, "feed_forward.hidden", "context");
  canvas.flow(column, kShortGap);
  put_wide(canvas, column, "Down", "linear");
  put_frame(canvas, column, bottom);
}

}  // namespace evenkeel::report
