// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/rotary.h"

namespace evenkeel::nn {

/// Which code multiplies softmax(q k^T) v: both give the same numbers to rounding.
enum class AttentionPath { automatic, flash, explicit_scores };

/// Keys and values of the positions before, for decoding token by token.
struct KeyValueCache {
  at::Tensor keys, values;  // [B, kv, capacity, dk]; keys after norm and rotation
  std::int64_t length = 0;  // positions filled
};

/// softmax(cap(scale * q k^T)) v under a causal mask; query head i reads key head i div (h / kv).
/// Beside bfloat16, scores and softmax are float32; the weights are rounded to bfloat16.
///
/// \param q     [B, h, T, dk], the last T of the positions that k covers
/// \param k, v  [B, kv, S, dk], S >= T
/// \param softcap  c tanh(s / c) on the scores; flash attention cannot do it
/// \return [B, h, T, dk]
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<double> softcap, AttentionPath path);

/// The attention branch of one block: norms on q, k, v and context where the scheme has them.
struct Attention {
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
  at::Tensor qkv;     // [(heads + 2 * kv_heads) * head_width, width], rows q, k, v
  at::Tensor output;  // [width, heads * head_width]
  std::optional<NormLayer> q_norm, k_norm, v_norm, context_norm;
  bool q_norm_after_rotation = false, k_norm_after_rotation = false;  // rope = "before"
  double scale = 0;
  std::optional<double> softcap;
  AttentionPath path = AttentionPath::automatic;

  /// \param x      [B, T, width]
  /// \param cache  if given, x continues the positions in it, and its keys and values are added
  /// \return [B, T, width]
  at::Tensor operator()(const at::Tensor& x, const Rotary& rotary, KeyValueCache* cache) const;
};

}  // namespace evenkeel::nn
