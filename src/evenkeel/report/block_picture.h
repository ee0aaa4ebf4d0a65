// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "evenkeel/norm/scheme.h"

/// The layout of the figure of a scheme. Lengths are units of the SVG view box; y grows downwards.
namespace evenkeel::report {

/// A point of a wire.
struct PicturePoint {
  double x = 0, y = 0;
};

/// A rectangle with a text in its middle; with the role "sum" a circle with a plus sign.
struct PictureBox {
  double x = 0, y = 0;  // of the centre
  double width = 0, height = 0;
  std::string label;
  std::string role;   // CSS class: "norm input", "linear", "core", "scale", "sum", "end"
  std::string title;  // tooltip; may be empty
};

/// A line from point to point, with an arrowhead at its end.
struct PictureWire {
  std::vector<PicturePoint> points;
  bool has_arrow = true;
  std::string role;  // CSS class: "flow", "skip", "second" (the second residual stream)
};

/// A dot where a wire branches off.
struct PictureDot {
  PicturePoint at;
};

/// A text that begins at a point, on its baseline.
struct PictureText {
  PicturePoint at;
  std::string content;
  std::string role;  // CSS class: "block-name", "note"
};

/// A frame around a block ("block") or around the operations of a sublayer ("sublayer").
struct PictureFrame {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::string role;  // CSS class
};

/// All marks of the figure of a scheme, inside [0, width] x [0, height].
struct BlockPicture {
  double width = 0, height = 0;
  std::vector<PictureFrame> frames;
  std::vector<PictureWire> wires;
  std::vector<PictureDot> dots;
  std::vector<PictureBox> boxes;
  std::vector<PictureText> texts;
};

/// The number of different blocks that a figure shows at most.
inline constexpr std::size_t kMostPictureBlocks = 6;

/// The layout of a scheme: each different block once, the residual stream upwards, skip connections
/// at the right of a sublayer. The first block has the embedding below it, the last one the head
/// above it. Notes below the blocks explain the numbers and the fields of norms that differ from
/// the defaults.
BlockPicture block_picture(const norm::Scheme& scheme);

/// The width that a text in the figure takes at most.
/// \param font  CSS pixels
double picture_text_width(const std::string& utf8, double font);

inline constexpr double kPictureFont = 11.5, kPictureSmallFont = 10.5, kPictureNameFont = 12.5;

}  // namespace evenkeel::report
