// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "evenkeel/ops/rows.h"

/// What the adapters of qkv_norm_rope share, on every device.
namespace evenkeel::ops {

/// q, k or v inside the products of a token.
struct HeadsPart {
  std::int64_t first = 0, count = 0;  // heads
  OptionalTensor gain;                // none: not normed
  double epsilon = 0;
  bool is_turned = false;
};

/// The three parts, in order.
inline std::array<HeadsPart, 3> parts_of(std::int64_t heads, std::int64_t kv_heads,
                                         const OptionalTensor& q_gain, const OptionalTensor& k_gain,
                                         const OptionalTensor& v_gain,
                                         at::ArrayRef<double> epsilon) {
  const auto contiguous = [](const OptionalTensor& gain) {
    return gain ? OptionalTensor(gain->contiguous()) : std::nullopt;
  };
  return {{{0, heads, contiguous(q_gain), epsilon[0], true},
           {heads, kv_heads, contiguous(k_gain), epsilon[1], true},
           {heads + kv_heads, kv_heads, contiguous(v_gain), epsilon[2], false}}};
}

inline std::int64_t head_width(const at::Tensor& products, std::int64_t heads,
                               std::int64_t kv_heads) {
  return width_of(products) / (heads + 2 * kv_heads);
}

}  // namespace evenkeel::ops
