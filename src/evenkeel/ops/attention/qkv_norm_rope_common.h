// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "evenkeel/ops/common/operands.h"

/// Shared by the CPU, CUDA and Meta adapters of qkv_norm_rope.
namespace evenkeel::ops {

/// q, k or v as a range of heads in the QKV projection of a token.
struct QkvPart {
  std::int64_t first = 0, count = 0;  // first head and number of heads
  OptionalTensor gain;                // nullopt: no norm
  double epsilon = 0;
  bool is_rotated = false;
};

/// The parts q, k, v, in this order.
/// \param epsilon  of the norms of q, k and v
/// \throws c10::Error unless epsilon has 3 elements
inline std::array<QkvPart, 3> qkv_parts(std::int64_t heads, std::int64_t kv_heads,
                                        const OptionalTensor& q_gain, const OptionalTensor& k_gain,
                                        const OptionalTensor& v_gain,
                                        at::ArrayRef<double> epsilon) {
  const auto contiguous = [](const OptionalTensor& gain) {
    return gain ? OptionalTensor(gain->contiguous()) : std::nullopt;
  };
  TORCH_CHECK(epsilon.size() == 3, "[qkv_norm_rope] epsilon must be 3 numbers, but is ",
              epsilon.size());
  return {{{0, heads, contiguous(q_gain), epsilon[0], true},
           {heads, kv_heads, contiguous(k_gain), epsilon[1], true},
           {heads + kv_heads, kv_heads, contiguous(v_gain), epsilon[2], false}}};
}

/// D, the width of a head.
/// \throws c10::Error unless qkv is [B, T, (heads + 2 * kv_heads) * D]
inline std::int64_t head_width(const at::Tensor& qkv, std::int64_t heads, std::int64_t kv_heads) {
  const auto all = width_of(qkv);
  TORCH_CHECK(qkv.dim() == 3 && heads > 0 && kv_heads > 0 && heads <= all && kv_heads <= all &&
                  all % (heads + 2 * kv_heads) == 0,
              "[qkv_norm_rope] qkv must be [B, T, (heads + 2 * kv_heads) * D] for ", heads,
              " heads and ", kv_heads, " key heads, but is ", qkv.sizes());
  return width_of(qkv) / (heads + 2 * kv_heads);
}

/// The columns of q, of k and of v: [B, T, heads * D], and [B, T, kv_heads * D] twice.
/// \param qkv  [B, T, (heads + 2 * kv_heads) * D]
inline std::array<at::Tensor, 3> qkv_columns(const at::Tensor& qkv, std::int64_t heads,
                                             std::int64_t kv_heads) {
  const auto width = head_width(qkv, heads, kv_heads);
  return {qkv.narrow(2, 0, heads * width), qkv.narrow(2, heads * width, kv_heads * width),
          qkv.narrow(2, (heads + kv_heads) * width, kv_heads * width)};
}

}  // namespace evenkeel::ops
