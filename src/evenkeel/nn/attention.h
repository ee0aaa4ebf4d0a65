// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/linear.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/nn/positions.h"

namespace evenkeel::nn {

/// Which code computes softmax(q k^T) v: all give the same numbers to rounding. On the CPU
/// `automatic` is our own operator; `flash` is LibTorch's, for what that can.
enum class AttentionPath { automatic, flash, explicit_scores };

/// Keys and values of earlier positions, for decoding token by token.
struct KeyValueCache {
  at::Tensor keys, values;    // [B, kv, capacity, dk]; keys after norm and rotation
  std::int64_t length = 0;    // positions filled
  at::Tensor document_start;  // [B]: of the documents that go on; undefined: 0
};

/// Whether LibTorch's flash attention can do it: no soft cap, no cached keys, one document.
bool can_use_flash(const AttentionInputs& inputs);

/// softmax(cap(scale * q k^T)) v under a causal mask; query head i reads key head i div (h / kv).
/// Beside bfloat16, scores and softmax are float32.
///
/// \param inputs  q covers the last T of the S positions of k and v; softcap c: c tanh(s / c)
/// \return [B, h, T, dk]
at::Tensor causal_attention(const AttentionInputs& inputs, AttentionPath path);

/// The attention branch of one block: norms on q, k, v and context where the scheme has them.
struct Attention {
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
  Matrix qkv;     // [(heads + 2 * kv_heads) * head_width, width], rows q, k, v
  Matrix output;  // [width, heads * head_width]
  std::optional<NormLayer> q_norm, k_norm, v_norm, context_norm;
  bool q_norm_after_rotation = false, k_norm_after_rotation = false;  // rope = "before"
  Factor scale;  // of the scores; learned: [1], or one a head
  std::optional<double> softcap;
  AttentionPath path = AttentionPath::automatic;
  bool fused = true;  // false: the formulas, norm by norm
  Recompute recompute = Recompute::none;
  std::int64_t l = 0;  // the block's number, for the observer

  /// \param x         [B, T, width]
  /// \param cache     if given, x continues the positions in it, and its keys and values are added
  /// \param observer  may be null
  /// \return [B, T, width]
  at::Tensor operator()(const Activation& x, const Positions& positions, Mode mode,
                        KeyValueCache* cache, const Observer* observer) const;

 private:
  struct Heads {
    at::Tensor q, k, v;  // [B, T, h or kv, dk]
  };
  Heads heads_of(const at::Tensor& products, const Rotary& rotary, Mode mode) const;
  Heads fused_heads(const at::Tensor& products, const Rotary& rotary, Mode mode) const;
  at::Tensor scaled(const at::Tensor& q) const;
};

}  // namespace evenkeel::nn
