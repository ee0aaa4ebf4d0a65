// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/depth_check.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <variant>

#include "evenkeel/base/error.h"
#include "evenkeel/base/number.h"
#include "evenkeel/norm/describe.h"
#include "evenkeel/probe/gradients.h"

namespace evenkeel::train {

namespace {

/// These scheme names without that of the present scheme.
std::string other_schemes(const norm::Scheme& scheme, std::initializer_list<const char*> names) {
  std::string out;
  for (const std::string name : names) {
    if (name != scheme.info.name) out = norm::joined(out, name, " or ");
  }
  return out;
}

/// True if every skip connection passes a post-add norm, as in Post-Norm.
bool normalizes_every_skip(const norm::Scheme& scheme) {
  return std::all_of(scheme.blocks.begin(), scheme.blocks.end(), [](const norm::Block& block) {
    return block.attention.residual && block.feed_forward.residual;
  });
}

/// True if a feed-forward sublayer has the skip input "normed", as in HybridNorm.
bool has_normalized_skip(const norm::Scheme& scheme) {
  return std::any_of(scheme.blocks.begin(), scheme.blocks.end(), [](const norm::Block& block) {
    const auto& skip = block.feed_forward.add.skip;
    return std::count(skip.begin(), skip.end(), norm::Tap::normed) > 0;
  });
}

/// True if the scheme multiplies both branches of block l by 0 at a step, as a scheme that fades
/// its branches in does at first.
bool is_faded_out(const norm::Scheme& scheme, std::int64_t l, const norm::Steps& steps) {
  const auto variables = scheme.shape.variables_of_block(l, steps);
  const auto is_zero = [&](const norm::Number& scale) {
    const auto* const fixed = std::get_if<norm::Expression>(&scale);
    return fixed != nullptr && fixed->value(variables) == 0;
  };
  const auto& block = scheme.blocks[static_cast<std::size_t>(l) - 1];
  return is_zero(block.attention.add.branch_scale) && is_zero(block.feed_forward.add.branch_scale);
}

constexpr double kFarDepth = 1e4;  // ratio of gradient norms; a healthy model has up to ten

/// The gradient of one block.
struct BlockNorm {
  std::int64_t layer = 0;  // from 1
  double norm = 0;         // L2
};

bool has_smaller_norm(const BlockNorm& one, const BlockNorm& other) {
  return one.norm < other.norm;
}

/// L2 norms of the gradients.
struct DepthNorms {
  std::vector<BlockNorm> blocks;  // without those that are faded out
  double model = 0;
  double attention_square = 0, feed_forward_square = 0;  // sums of squares over all blocks
};

/// \param values  gradient norm of each block
std::vector<BlockNorm> active_blocks(const std::vector<double>& values, const norm::Scheme& scheme,
                                     const norm::Steps& steps) {
  std::vector<BlockNorm> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto l = static_cast<std::int64_t>(i) + 1;
    const bool is_off = values[i] == 0 && is_faded_out(scheme, l, steps);
    if (!is_off) blocks.push_back({.layer = l, .norm = values[i]});
  }
  return blocks;
}

DepthNorms depth_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients,
                       const norm::Scheme& scheme, const norm::Steps& steps) {
  DepthNorms norms;
  for (const auto& profile : probe::gradient_norms(parameters, gradients, scheme)) {
    double squares = 0;
    for (const auto value : profile.values) squares += value * value;
    const auto& part = profile.part;
    if (part == "block") norms.blocks = active_blocks(profile.values, scheme, steps);
    if (part == "model") norms.model = profile.values.front();
    if (part == "q" || part == "k" || part == "v" || part == "output") {
      norms.attention_square += squares;
    }
    if (part == "up" || part == "gate" || part == "down") norms.feed_forward_square += squares;
  }
  return norms;
}

/// \param ratio  largest gradient norm of a block / gradient norm of the model
HealthEvent dead_blocks_event(double ratio) {
  return {.kind = "dead_blocks",
          .observation = text("the gradient of the largest block is ", with_digits(ratio, 3),
                              " of the model's"),
          .explanation = "only embedding and head learn",
          .remedy = "a lower schedule.peak, a longer schedule.warmup, or model.init"};
}

/// \param most  largest gradient norm of a block
HealthEvent dead_block_event(const BlockNorm& block, double most) {
  const auto ratio = with_digits(block.norm / most, 3);
  return {.kind = "dead_blocks",
          .layer = block.layer,
          .observation = block.norm == 0 ? "a block has no gradient at all"
                                         : text("the gradient of a block is ", ratio,
                                                " of the largest block's"),
          .explanation = "the block does not learn: its branches are cut off or underflow",
          .remedy =
              "check its weights and branch_scale; or an earlier checkpoint with a lower "
              "schedule.peak"};
}

/// \param first  layer of the first block, 1 unless it is faded out
/// \param ratio  its gradient norm / largest gradient norm of a block
HealthEvent vanishing_event(const norm::Scheme& scheme, std::int64_t first, double ratio) {
  return {.kind = "vanishing",
          .layer = first,
          .observation = text("the gradient of block ", first, " is ", with_digits(ratio, 3),
                              " of the largest block's"),
          .explanation = normalizes_every_skip(scheme)
                             ? "every skip passes a norm, and gradients die towards the input"
                             : "gradients die towards the input",
          .remedy = text("scheme ", other_schemes(scheme, {"hybrid_norm_star", "deep_norm"}),
                         ", or a lower schedule.peak")};
}

/// \param first  layer of the first block, 1 unless it is faded out
/// \param ratio  its gradient norm / smallest gradient norm of a block
HealthEvent exploding_event(const norm::Scheme& scheme, std::int64_t first, double ratio) {
  return {.kind = "exploding_depth",
          .layer = first,
          .observation = text("the gradient of block ", first, " is ", with_digits(ratio, 3),
                              " times the smallest block's"),
          .explanation = "the stream grows with depth, so that late blocks change it little",
          .remedy = text("scheme ",
                         other_schemes(scheme, {"hybrid_norm", "layer_norm_scaling", "peri_ln"}),
                         ", or a lower schedule.peak")};
}

/// \param ratio  gradient norm of the feed-forward sublayers / that of the attention sublayers
HealthEvent feed_forward_event(const norm::Scheme& scheme, double ratio) {
  return {.kind = "feed_forward",
          .observation = text("the gradients of the feed-forward sublayers are ",
                              with_digits(ratio, 3), " times those of attention"),
          .explanation = has_normalized_skip(scheme)
                             ? "the branch is too large against a normed skip"
                             : "attention hardly learns",
          .remedy = "a lower schedule.peak; check feed_forward.skip of the scheme"};
}

/// The events of blocks whose gradients are below 1e-4 of the largest block's. Small gradients of
/// the first blocks vanish, and those of the last blocks show that block 1's explodes. A block
/// between larger ones, or one without any gradient, is dead.
/// \param blocks  at least one
/// \param most    largest gradient norm of a block
std::vector<HealthEvent> weak_block_events(const std::vector<BlockNorm>& blocks, double most,
                                           const norm::Scheme& scheme) {
  const auto is_weak = [&](const BlockNorm& block) { return block.norm * kFarDepth < most; };
  const auto is_small = [&](const BlockNorm& block) { return block.norm > 0 && is_weak(block); };
  const auto& first = blocks.front();
  const auto vanishing_end = std::find_if_not(blocks.begin(), blocks.end(), is_small);
  const auto last_small = std::find_if_not(blocks.rbegin(), blocks.rend(), is_small).base();
  const auto least = std::min_element(last_small, blocks.end(), has_smaller_norm);
  const bool vanishes = vanishing_end != blocks.begin();
  const bool explodes = !vanishes && least != blocks.end() && first.norm > kFarDepth * least->norm;
  std::vector<HealthEvent> events;
  if (vanishes) events.push_back(vanishing_event(scheme, first.layer, first.norm / most));
  if (explodes) events.push_back(exploding_event(scheme, first.layer, first.norm / least->norm));
  std::for_each(vanishing_end, explodes ? last_small : blocks.end(), [&](const BlockNorm& block) {
    if (is_weak(block)) events.push_back(dead_block_event(block, most));
  });
  return events;
}

}  // namespace

std::vector<HealthEvent> check_depth(const nn::Parameters& parameters,
                                     const std::vector<at::Tensor>& gradients,
                                     const norm::Scheme& scheme, const norm::Steps& steps) {
  constexpr double kImbalanced = 100;
  const auto norms = depth_norms(parameters, gradients, scheme, steps);
  if (norms.blocks.empty()) return {};
  const double model = norms.model;
  const double most =
      std::max_element(norms.blocks.begin(), norms.blocks.end(), has_smaller_norm)->norm;
  if (!std::isfinite(most) || !(model > 0)) return {};
  std::vector<HealthEvent> events;
  if (most * kFarDepth < model) {
    events.push_back(dead_blocks_event(most / model));
  } else {
    events = weak_block_events(norms.blocks, most, scheme);
  }
  const double attention = norms.attention_square, feed_forward = norms.feed_forward_square;
  if (attention > 0 && feed_forward > kImbalanced * kImbalanced * attention) {
    events.push_back(feed_forward_event(scheme, std::sqrt(feed_forward / attention)));
  }
  return events;
}

}  // namespace evenkeel::train
