// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "evenkeel/report/block_notes.h"
#include "evenkeel/report/block_picture.h"

/// Boxes and wires of the figure of a block, added from the bottom up.
namespace evenkeel::report {

inline constexpr double kBoxGap = 15;  // between two boxes of a column
inline constexpr double kBoxHeight = 24;
inline constexpr double kSumRadius = 8;
inline constexpr double kHalfSublayer = 110;  // half the width of the operations of a sublayer
inline constexpr double kFrameMargin = 12, kFrameGap = 12;
inline constexpr double kLaneGap = 15;     // between skip connections
inline constexpr double kSecondAt = -155;  // x of the second residual stream

/// A vertical line of boxes: its x, and the y of its upper end.
struct BlockColumn {
  double x = 0, y = 0;
};

/// The picture of one block while it is drawn.
class BlockCanvas {
 public:
  explicit BlockCanvas(BlockNotes& all_notes) : notes(all_notes) {}

  struct BoxText {
    std::string label, role;
    std::string title{};
    double width = 0;  // 0: fits the label
  };

  /// An arrow upwards from the end of a column.
  void flow(BlockColumn& column, double by = kBoxGap);
  /// A line without an arrowhead.
  void line(BlockColumn& column, double by);
  /// An arrow and a box.
  void put(BlockColumn& column, const BoxText& box);
  /// An arrow and a norm, if there is one. \param slot  its place in a scheme: "attention.input"
  void put_norm(BlockColumn& column, const std::optional<norm::Norm>& norm, const std::string& slot,
                const std::string& role);
  /// An arrow and a factor, unless it is 1.
  void put_scale(BlockColumn& column, const norm::Number& factor, const std::string& of_what);
  /// A sum at the end of a column, with an arrow to it.
  void put_sum(BlockColumn& column);
  /// A box at a place.
  void box_at(PicturePoint at, const BoxText& box, double height = kBoxHeight);
  /// The box of a norm. \param width  0: fits the label
  BoxText norm_box(const norm::Norm& norm, const std::string& slot, const std::string& role,
                   double width = 0);
  /// A wire of the role "flow", "skip" or "second".
  void wire(std::vector<PicturePoint> points, const std::string& role, bool has_arrow = true);
  void dot(PicturePoint at) { picture.dots.push_back({at}); }

  /// Raises the second stream to a height, with an arrow.
  void raise_second(double y, bool has_arrow);
  /// The height that the second stream has reached.
  double second_y = 0;
  bool has_second = false;
  /// Ends the second stream at a height, unless it has ended.
  void close_second(double y);

  /// The outermost marks so far.
  double left() const;
  double right() const;

  BlockPicture picture;
  BlockNotes& notes;
};

}  // namespace evenkeel::report
