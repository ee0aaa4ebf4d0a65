// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/flops.h"

#include <algorithm>

#include "evenkeel/norm/slots.h"

namespace evenkeel::nn {

namespace {

/// The feed-forwards of width `inner` that are active for a token in block i, from 0.
double feed_forwards_per_token(const norm::Shape& shape, std::int64_t i) {
  return static_cast<double>(shape.has_router(i) ? shape.experts.per_token()
                                                 : shape.dense_ffn_multiple());
}

}  // namespace

double flops_per_token(const norm::Scheme& scheme, std::int64_t padded_vocabulary) {
  const auto& shape = scheme.shape;
  const auto d = static_cast<double>(shape.width);
  const auto key_width = static_cast<double>(shape.kv_heads * shape.head_width());
  const auto inner = static_cast<double>(shape.inner);
  const auto layers = static_cast<double>(shape.layers);
  const double attention = d * (d + 2 * key_width) + d * d;
  double weights = layers * attention + static_cast<double>(padded_vocabulary) * d;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    weights += 3 * d * inner * feed_forwards_per_token(shape, i);
    if (shape.has_router(i)) weights += d * static_cast<double>(shape.experts.count);
  }
  return 6 * (weights + layers * static_cast<double>(shape.context) * d);
}

double norm_flops_per_token(const norm::Scheme& scheme) {
  constexpr double kFlopsPerValue = 12;
  double values = 0;
  for (const auto& slot : norm::slots_of(scheme)) {
    const bool is_hidden = slot.place == "feed_forward.hidden";
    values += static_cast<double>(slot.width) *
              (is_hidden ? feed_forwards_per_token(scheme.shape, slot.block - 1) : 1);
  }
  return kFlopsPerValue * values;
}

double paper_norms_share(const norm::Scheme& scheme) {
  const auto slots = norm::slots_of(scheme);
  const auto norms =
      std::count_if(slots.begin(), slots.end(), [](const auto& slot) { return slot.block > 0; });
  const auto& shape = scheme.shape;
  return static_cast<double>(norms) /
         static_cast<double>(shape.layers * (6 * shape.width + shape.context));
}

}  // namespace evenkeel::nn
