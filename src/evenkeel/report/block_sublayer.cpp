// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/report/block_sublayer.h"

#include <algorithm>
#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/report/block_core.h"

namespace evenkeel::report {

namespace {

constexpr double kFork = 9;  // below and above the dot of a skip connection
constexpr double kFirstLane = kHalfSublayer + 8 + kLaneGap;
constexpr double kColumnOfParallel = kHalfSublayer + 30;
constexpr double kFactorAt = 64;  // distance of a factor on a horizontal wire
constexpr double kSecondNormWidth = 84;

bool is_factor_one(const norm::Number& number) {
  return number == norm::Number(norm::Expression(1));
}

/// A dot on a column, where a skip connection begins. \return its y
double fork(BlockCanvas& canvas, BlockColumn& column) {
  canvas.line(column, kFork);
  canvas.dot({column.x, column.y});
  return column.y;
}

/// x + norm(y): what a sublayer reads with two residual streams.
void put_dual_read(BlockCanvas& canvas, BlockColumn& column, const norm::Norm& norm) {
  canvas.put_sum(column);
  const double y = column.y + kSumRadius, half = kSecondNormWidth / 2;
  const double at = (kSecondAt - kSumRadius) / 2;
  canvas.raise_second(y, false);
  canvas.dot({kSecondAt, y});
  canvas.wire({{kSecondAt, y}, {at - half, y}}, "second");
  canvas.box_at({at, y}, canvas.norm_box(norm, "dual.norm", "other", kSecondNormWidth));
  canvas.wire({{at + half, y}, {-kSumRadius, y}}, "second");
}

/// y + write_y * branch.
void put_dual_write(BlockCanvas& canvas, BlockColumn& column, const norm::Dual& dual) {
  canvas.line(column, kBoxGap);
  canvas.dot({column.x, column.y});
  const norm::Number factor = dual.write_y;
  const double y = column.y;
  canvas.wire({{column.x, y}, {kSecondAt + kSumRadius, y}}, "second");
  if (!is_factor_one(factor)) {
    canvas.box_at({-kFactorAt, y}, {canvas.notes.factor(factor), "scale", "factor of y's branch"});
  }
  canvas.raise_second(y + kSumRadius, true);
  canvas.box_at({kSecondAt, y}, {"", "sum", "sum of the second stream", 2 * kSumRadius},
                2 * kSumRadius);
  canvas.second_y = y - kSumRadius;
}

/// The starts of the inputs of a skip connection.
struct Starts {
  PicturePoint stream, normed, block_input;

  PicturePoint of(norm::Tap tap) const {
    if (tap == norm::Tap::normed) return normed;
    return tap == norm::Tap::stream ? stream : block_input;
  }
};

/// The sum of branch and skip at the end of a column, with the wires of the skip connection.
void put_residual_sum(BlockCanvas& canvas, BlockColumn& column, const norm::Residual& add,
                      const Starts& starts) {
  double side = kSumRadius;
  if (add.update == norm::Update::add) {
    canvas.put_sum(column);
  } else {
    constexpr double kStepWidth = 96;
    const std::string name(norm::name_of(add.update));
    canvas.put(column, {name + " step", "step", "residual update on the sphere", kStepWidth});
    side = kStepWidth / 2;
  }
  const double y = column.y + (side == kSumRadius ? kSumRadius : kBoxHeight / 2);
  double lane = kFirstLane;
  for (const auto tap : add.skip) {
    if (tap == norm::Tap::block_input && add.skip.size() > 1) lane += kLaneGap;
    const auto start = starts.of(tap);
    const bool is_first = tap == add.skip.front();
    canvas.wire({start, {lane, start.y}, {lane, y}, {is_first ? side : kFirstLane + kSumRadius, y}},
                "skip");
    lane += kLaneGap;
  }
  if (add.skip.size() > 1) {
    canvas.box_at({kFirstLane, y}, {"", "sum", "sum of the skip inputs", 2 * kSumRadius},
                  2 * kSumRadius);
  }
  if (!is_factor_one(add.skip_scale)) {
    canvas.box_at({kFactorAt, y},
                  {canvas.notes.factor(add.skip_scale), "scale", "factor of the skip connection"});
  }
}

/// The parts of a sublayer that attention and feed-forward have in common.
struct SublayerParts {
  const std::string name;  // in a scheme
  const std::optional<norm::Norm>&input, &output, &residual;
  const norm::Residual& add;
};

template <typename Core>
void put_sublayer(BlockCanvas& canvas, BlockColumn& column, const norm::Scheme& scheme,
                  const SublayerParts& parts, PicturePoint block_input, const Core& core) {
  const auto takes = [&](norm::Tap tap) {
    return std::find(parts.add.skip.begin(), parts.add.skip.end(), tap) != parts.add.skip.end();
  };
  Starts starts{.stream = {}, .normed = {}, .block_input = block_input};
  if (takes(norm::Tap::stream)) starts.stream = {column.x, fork(canvas, column)};
  if (scheme.dual && scheme.dual->reads_norm_of_y) {
    put_dual_read(canvas, column, scheme.dual->norm);
  }
  canvas.put_norm(column, parts.input, parts.name + ".input", "input");
  if (takes(norm::Tap::normed)) starts.normed = {column.x, fork(canvas, column)};
  core(column);
  canvas.put_norm(column, parts.output, parts.name + ".output", "output");
  if (scheme.dual) put_dual_write(canvas, column, *scheme.dual);
  canvas.put_scale(column, parts.add.branch_scale, "of the branch");
  put_residual_sum(canvas, column, parts.add, starts);
  canvas.put_norm(column, parts.residual, parts.name + ".residual", "residual");
}

void put_damp(BlockCanvas& canvas, BlockColumn& column, const norm::Block& block) {
  if (!block.damp) return;
  const auto factor = formula_text(norm::describe(*block.damp));
  const auto mark = canvas.notes.mark("s − a · stop_gradient(s), a: " + factor);
  canvas.put(column, {"GPAS" + mark, "scale", "damping of the forward pass"});
}

/// Both sublayers read one stream, and one sum adds both branches.
void put_parallel(BlockCanvas& canvas, BlockColumn& column, const norm::Block& block,
                  const norm::Experts* experts) {
  const auto& [attention, feed_forward, damp] = block;
  const auto takes = [&](norm::Tap tap) {
    const auto& skip = attention.add.skip;
    return std::find(skip.begin(), skip.end(), tap) != skip.end();
  };
  const double start = fork(canvas, column);
  BlockColumn left{-kColumnOfParallel, start}, right{kColumnOfParallel, start};
  canvas.wire({{column.x, start}, {left.x, start}}, "flow", false);
  canvas.put_norm(left, attention.input, "attention.input", "input");
  double shared = start;
  if (takes(norm::Tap::normed) || feed_forward.shares_input) shared = fork(canvas, left);
  if (feed_forward.shares_input) {
    canvas.wire({{left.x, shared}, {right.x, shared}}, "over", false);
    right.y = shared;
  } else {
    canvas.wire({{column.x, start}, {right.x, start}}, "flow", false);
    canvas.put_norm(right, feed_forward.input, "feed_forward.input", "input");
  }
  if (takes(norm::Tap::normed)) {
    canvas.wire({{left.x, shared}, {column.x, shared}}, "skip", false);
    canvas.dot({column.x, shared});
  }
  put_attention(canvas, left, attention);
  canvas.put_norm(left, attention.output, "attention.output", "output");
  canvas.put_scale(left, attention.add.branch_scale, "of the branch");
  put_feed_forward(canvas, right, feed_forward, experts);
  canvas.put_norm(right, feed_forward.output, "feed_forward.output", "output");
  canvas.put_scale(right, feed_forward.add.branch_scale, "of the branch");
  const bool is_of_stream = takes(norm::Tap::stream) || takes(norm::Tap::block_input);
  const double from = is_of_stream ? start : shared;
  column.y = std::min(left.y, right.y);
  canvas.wire({{column.x, from}, {column.x, column.y}}, "skip", false);
  canvas.put_scale(column, attention.add.skip_scale, "of the skip connection");
  canvas.put_sum(column);
  const double y = column.y + kSumRadius;
  canvas.wire({{left.x, left.y}, {left.x, y}, {-kSumRadius, y}}, "flow");
  canvas.wire({{right.x, right.y}, {right.x, y}, {kSumRadius, y}}, "flow");
  canvas.put_norm(column, attention.residual, "attention.residual", "residual");
  put_damp(canvas, column, block);
}

}  // namespace

void put_block(BlockCanvas& canvas, BlockColumn& column, const norm::Scheme& scheme,
               const norm::Block& block, const norm::Experts* experts) {
  const auto& [attention, feed_forward, damp] = block;
  if (scheme.parallel) return put_parallel(canvas, column, block, experts);
  PicturePoint block_input{column.x, column.y};
  const auto takes_block_input = [](const norm::Residual& add) {
    return std::find(add.skip.begin(), add.skip.end(), norm::Tap::block_input) != add.skip.end();
  };
  if (takes_block_input(attention.add) || takes_block_input(feed_forward.add)) {
    block_input.y = fork(canvas, column);
  }
  put_sublayer(canvas, column, scheme,
               {"attention", attention.input, attention.output, attention.residual, attention.add},
               block_input, [&](BlockColumn& at) { put_attention(canvas, at, attention); });
  put_damp(canvas, column, block);
  put_sublayer(canvas, column, scheme,
               {"feed_forward", feed_forward.input, feed_forward.output, feed_forward.residual,
                feed_forward.add},
               block_input,
               [&](BlockColumn& at) { put_feed_forward(canvas, at, feed_forward, experts); });
  put_damp(canvas, column, block);
}

void put_dual_start(BlockCanvas& canvas, BlockColumn& column, const norm::Dual& dual,
                    bool is_first) {
  canvas.has_second = true;
  canvas.second_y = column.y;
  if (!is_first) return canvas.wire({{kSecondAt, 0}, {kSecondAt, column.y}}, "second", false);
  fork(canvas, column);
  canvas.wire({{column.x, column.y}, {kSecondAt, column.y}}, "second", false);
  if (const norm::Number factor = dual.y_init; !is_factor_one(factor)) {
    canvas.box_at({-kFactorAt, column.y},
                  {canvas.notes.factor(factor), "scale", "start of the second stream"});
  }
  canvas.second_y = column.y;
}

void put_dual_end(BlockCanvas& canvas, BlockColumn& column, const norm::Dual& dual) {
  if (dual.norms_both_at_end) {
    canvas.put(column, canvas.norm_box(dual.norm, "dual.norm", "other"));
  }
  put_dual_read(canvas, column, dual.norm);
  canvas.has_second = false;  // the norm of the sum is the final norm
}

}  // namespace evenkeel::report
