// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/train/health/depth_check.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

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

/// L2 norms of the gradients.
struct DepthNorms {
  std::vector<double> blocks;  // one per block
  double model = 0;
  double attention_square = 0, feed_forward_square = 0;  // sums of squares over all blocks
};

DepthNorms depth_norms(const nn::Parameters& parameters, const std::vector<at::Tensor>& gradients,
                       const norm::Scheme& scheme) {
  DepthNorms norms;
  for (const auto& profile : probe::gradient_norms(parameters, gradients, scheme)) {
    double squares = 0;
    for (const auto value : profile.values) squares += value * value;
    const auto& part = profile.part;
    if (part == "block") norms.blocks = profile.values;
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

/// \param ratio  gradient norm of block 1 / largest gradient norm of a block
HealthEvent vanishing_event(const norm::Scheme& scheme, double ratio) {
  return {.kind = "vanishing",
          .layer = 1,
          .observation =
              text("the gradient of block 1 is ", with_digits(ratio, 3), " of the largest block's"),
          .explanation = normalizes_every_skip(scheme)
                             ? "every skip passes a norm, and gradients die towards the input"
                             : "gradients die towards the input",
          .remedy = text("scheme ", other_schemes(scheme, {"hybrid_norm_star", "deep_norm"}),
                         ", or a lower schedule.peak")};
}

/// \param ratio  gradient norm of block 1 / smallest gradient norm of a block
HealthEvent exploding_event(const norm::Scheme& scheme, double ratio) {
  return {.kind = "exploding_depth",
          .layer = 1,
          .observation = text("the gradient of block 1 is ", with_digits(ratio, 3),
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

}  // namespace

std::vector<HealthEvent> check_depth(const nn::Parameters& parameters,
                                     const std::vector<at::Tensor>& gradients,
                                     const norm::Scheme& scheme) {
  constexpr double kFar = 1e4, kImbalanced = 100;
  const auto norms = depth_norms(parameters, gradients, scheme);
  const double model = norms.model, first = norms.blocks.front();
  const auto [least, most] = std::minmax_element(norms.blocks.begin(), norms.blocks.end());
  if (!std::isfinite(*most) || !(model > 0)) return {};
  std::vector<HealthEvent> events;
  if (*most * kFar < model) {
    events.push_back(dead_blocks_event(*most / model));
  } else if (first * kFar < *most) {
    events.push_back(vanishing_event(scheme, first / *most));
  } else if (*least > 0 && first > kFar * *least) {
    events.push_back(exploding_event(scheme, first / *least));
  }
  const double attention = norms.attention_square, feed_forward = norms.feed_forward_square;
  if (attention > 0 && feed_forward > kImbalanced * kImbalanced * attention) {
    events.push_back(feed_forward_event(scheme, std::sqrt(feed_forward / attention)));
  }
  return events;
}

}  // namespace evenkeel::train
