// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

#include "evenkeel/nn/attention_inputs.h"
#include "evenkeel/nn/attention_path.h"
#include "evenkeel/nn/factor.h"
#include "evenkeel/nn/key_value_cache.h"
#include "evenkeel/nn/linear.h"
#include "evenkeel/nn/matrix.h"
#include "evenkeel/nn/norm_layer.h"
#include "evenkeel/nn/positions.h"
#include "evenkeel/nn/step_number.h"

namespace evenkeel::nn {

struct Observer;

/// Whether LibTorch's flash attention applies: no soft cap, no cached keys, one document.
bool can_use_flash(const AttentionInputs& inputs);

/// softmax(cap(scale * q k^T)) v under a causal mask; query head i reads key head i div (h / kv).
/// Scores and softmax are float32 (float64 if q is float64). ops/attention/causal_attention.h has
/// the exception of bfloat16. The layout [B, h, T, dk] differs from that of
/// ops::causal_attention(), [B, T, heads, D].
///
/// \param inputs  q has the last T of the S positions of k and v
/// \return [B, h, T, dk], the dtype of q
/// \source Vaswani et al. 2017, arXiv:1706.03762, eq. 1; Ainslie et al. 2023, arXiv:2305.13245
///         (grouped queries)
at::Tensor causal_attention(const AttentionInputs& inputs, AttentionPath path);

/// The attention branch of one block:
///
///   q, k, v = split(W_qkv x);  q, k = rotate(norm(q)), rotate(norm(k));  v = norm(v)
///   y       = W_output norm(causal_attention(q, k, v))
///
/// An empty slot is the identity. With rope = "before" the rotation precedes the norm.
struct Attention {
  std::int64_t heads = 0, kv_heads = 0, head_width = 0;
  Matrix qkv;     // [(h + 2 kv) * dk, D], rows q, k, v
  Matrix output;  // [D, h * dk]
  std::optional<NormLayer> q_norm, k_norm, v_norm, context_norm;
  bool q_norm_after_rotation = false, k_norm_after_rotation = false;  // rope = "before"
  Factor scale;                       // factor of the scores; learned: [1] or [h]
  std::optional<StepNumber> softcap;  // c: scores become c tanh(score / c)
  AttentionPath path = AttentionPath::automatic;
  bool fused = true;  // false: unfused norms and rotation
  Recompute recompute = Recompute::none;
  std::int64_t l = 0;  // layer index from 1, for the observer

  /// \param x         [B, T, D]
  /// \param cache     not null: x holds the next positions; their keys and values are appended to
  ///                  the cache
  /// \param observer  gets Observer::attention; may be null
  /// \return [B, T, D]
  at::Tensor operator()(const Activation& x, const Positions& positions, Mode mode,
                        KeyValueCache* cache, const Observer* observer) const;

 private:
  struct Heads {
    at::Tensor q, k, v;  // [B, T, h or kv, dk]
  };
  Heads heads_of(const at::Tensor& products, const Rotary& rotary, Mode mode) const;
  Heads fused_heads(const at::Tensor& products, const Rotary& rotary, Mode mode) const;
  at::Tensor scaled(const at::Tensor& q) const;
  at::Tensor context_of(const Heads& all, const Positions& positions, KeyValueCache* cache,
                        const Observer* observer) const;
};

}  // namespace evenkeel::nn
