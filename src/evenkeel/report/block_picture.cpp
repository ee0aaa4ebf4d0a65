// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/report/block_canvas.h"
#include "evenkeel/report/block_sublayer.h"

namespace evenkeel::report {

namespace {

constexpr double kPanelGap = 26, kPictureMargin = 12, kNoteLine = 16, kNameGap = 7;

/// A different block of a scheme, and the blocks that are equal to it.
struct Distinct {
  const norm::Block* block;
  bool has_router;
  std::vector<std::size_t> numbers;  // from 1, ascending
};

std::vector<Distinct> distinct_blocks(const norm::Scheme& scheme) {
  std::vector<Distinct> out;
  for (std::size_t i = 0; i < scheme.blocks.size(); ++i) {
    const bool has_router = scheme.shape.has_router(static_cast<std::int64_t>(i));
    const auto same = std::find_if(out.begin(), out.end(), [&](const Distinct& each) {
      return each.has_router == has_router && *each.block == scheme.blocks[i];
    });
    if (same != out.end()) {
      same->numbers.push_back(i + 1);
    } else {
      out.push_back({&scheme.blocks[i], has_router, {i + 1}});
    }
  }
  return out;
}

/// "block 1", "blocks 2–12 (× 11)", "blocks 1, 3, ... (× 6)"
std::string name_of_blocks(const std::vector<std::size_t>& numbers) {
  if (numbers.size() == 1) return text("Block ", numbers.front());
  const bool is_range = numbers.back() - numbers.front() + 1 == numbers.size();
  return text("Blocks ", numbers.front(), is_range ? "–" : ", ",
              is_range ? numbers.back() : numbers[1], is_range || numbers.size() == 2 ? "" : ", …",
              " (× ", numbers.size(), ")");
}

/// The embedding, its scale and its norm; the start of the second stream.
void put_embedding(BlockCanvas& canvas, BlockColumn& column, const norm::Scheme& scheme) {
  canvas.put(column, {.label = "Embedding", .role = "end"});
  canvas.put_scale(column, scheme.embedding_scale, "of the embedding");
  canvas.put_norm(column, scheme.embedding_norm, "embedding_norm", "other");
}

/// The final norm and the head.
void put_head(BlockCanvas& canvas, BlockColumn& column, const norm::Scheme& scheme) {
  if (scheme.dual) put_dual_end(canvas, column, *scheme.dual);
  canvas.put_norm(column, scheme.final, "final", "other");
  std::string cap;
  if (scheme.logits_softcap) {
    const auto limit = formula_text(scheme.logits_softcap->formula());
    cap = text("logits: soft cap ", limit, " · tanh(logit / ", limit, ")");
  }
  canvas.put(column, {.label = "Head" + canvas.notes.mark(cap), .role = "end"});
  canvas.put_scale(column, scheme.logits_scale, "of the logits");
  canvas.flow(column);
}

/// The marks of one block with its frame and name. The spine is at x = 0, and the picture grows
/// upwards from y = 0.
void put_panel(BlockCanvas& canvas, const norm::Scheme& scheme, const Distinct& distinct,
               bool is_first, bool is_last) {
  BlockColumn column;
  if (is_first) put_embedding(canvas, column, scheme);
  if (!is_first) canvas.flow(column, kFrameGap);
  if (scheme.dual) put_dual_start(canvas, column, *scheme.dual, is_first);
  const double bottom = column.y - (is_first ? kFrameGap : 0);
  if (is_first) canvas.line(column, kFrameGap);
  const auto work = distinct.has_router ? &scheme.shape.experts : nullptr;
  put_block(canvas, column, scheme, *distinct.block, work);
  canvas.line(column, kFrameGap);
  const double top = column.y;
  const double left = canvas.left() - kFrameMargin, right = canvas.right() + kFrameMargin;
  canvas.picture.frames.insert(canvas.picture.frames.begin(), {left, top, right, bottom, "block"});
  canvas.picture.texts.push_back(
      {{kNameGap, top - kNameGap}, name_of_blocks(distinct.numbers), "block-name"});
  canvas.line(column, kFrameGap);
  if (is_last) put_head(canvas, column, scheme);
  if (!is_last) canvas.flow(column);
  canvas.close_second(column.y);
}

/// Moves all marks of a picture.
void move(BlockPicture& picture, double dx, double dy) {
  for (auto& each : picture.frames) {
    each.left += dx, each.right += dx, each.top += dy, each.bottom += dy;
  }
  for (auto& each : picture.boxes) each.x += dx, each.y += dy;
  for (auto& each : picture.texts) each.at.x += dx, each.at.y += dy;
  for (auto& each : picture.dots) each.at.x += dx, each.at.y += dy;
  for (auto& wire : picture.wires) {
    for (auto& each : wire.points) each.x += dx, each.y += dy;
  }
}

template <typename List>
void append(List& to, const List& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// Adds the marks of a panel at the right of a picture, both standing on y = 0.
void add_panel(BlockPicture& out, BlockPicture panel) {
  double left = 0, right = 0, top = 0;
  for (const auto& each : panel.frames) {
    left = std::min(left, each.left), right = std::max(right, each.right);
  }
  for (const auto& wire : panel.wires) {
    for (const auto& each : wire.points) top = std::min(top, each.y);
  }
  for (const auto& each : panel.texts) {
    right = std::max(right, each.at.x + picture_text_width(each.content, kPictureNameFont));
  }
  move(panel, out.width - left, 0);
  out.width += right - left + kPanelGap;
  out.height = std::max(out.height, -top);
  append(out.frames, panel.frames);
  append(out.wires, panel.wires);
  append(out.dots, panel.dots);
  append(out.boxes, panel.boxes);
  append(out.texts, panel.texts);
}

/// Breaks a text between words into lines of at most this width.
std::vector<std::string> wrapped(const std::string& content, double width) {
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < content.size();) {
    const auto end = std::min(content.find(' ', at), content.size());
    const auto word = content.substr(at, end - at);
    auto longer = lines.back() + (lines.back().empty() ? "" : " ") + word;
    if (!lines.back().empty() && picture_text_width(longer, kPictureSmallFont) > width) {
      lines.push_back("   " + word);
    } else {
      lines.back() = std::move(longer);
    }
    at = end + 1;
  }
  return lines;
}

/// Adds the notes below the blocks.
void add_notes(BlockPicture& picture, const BlockNotes& notes) {
  double y = picture.height + kNoteLine;
  for (const auto& note : notes.lines()) {
    for (const auto& line : wrapped(note, picture.width - 2 * kPictureMargin)) {
      y += kNoteLine;
      picture.texts.push_back({{kPictureMargin, y}, line, "note"});
      picture.height = y + kPictureMargin;
    }
  }
}

}  // namespace

double picture_text_width(const std::string& utf8, double font) {
  constexpr double kLetter = 0.6;  // of the font size: a wide sans-serif
  const auto letters = std::count_if(utf8.begin(), utf8.end(), [](char each) {
    return (static_cast<unsigned char>(each) & 0xC0U) != 0x80U;  // not a continuation byte
  });
  return kLetter * font * static_cast<double>(letters);
}

BlockPicture block_picture(const norm::Scheme& scheme) {
  BlockPicture out;
  BlockNotes notes;
  const auto all = distinct_blocks(scheme);
  const auto shown = std::min(all.size(), kMostPictureBlocks);
  for (std::size_t at = 0; at < shown; ++at) {
    BlockCanvas canvas(notes);
    put_panel(canvas, scheme, all[at], at == 0, at + 1 == shown);
    add_panel(out, std::move(canvas.picture));
  }
  if (shown < all.size()) {
    notes.add(
        text("The scheme has ", all.size(), " different blocks; the first ", shown, " are drawn."));
  }
  for (const auto& note : scheme_notes(scheme)) notes.add(note);
  constexpr double kLeastWidth = 300;
  out.width = std::max(kLeastWidth, out.width - kPanelGap + 2 * kPictureMargin);
  move(out, kPictureMargin, out.height + kPictureMargin);
  out.height += 2 * kPictureMargin;
  add_notes(out, notes);
  return out;
}

}  // namespace evenkeel::report
