// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention.h"

#include <ATen/ATen.h>

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/observer.h"
#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/attention/qkv_norm_rope.h"
#include "evenkeel/ops/attention/qkv_rope.h"
#include "evenkeel/ops/common/deterministic_softmax.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/linear/bf16_product.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/norms/affine.h"

namespace evenkeel::nn {

namespace {

/// Attention with materialized scores and weights: the reference, and the path where
/// can_use_flash() is false. [B, h, T, dk]
at::Tensor explicit_attention(const AttentionInputs& inputs) {
  const auto& [q, k, v, scale, softcap, document_starts] = inputs;
  const auto kv_heads = k.size(1);
  const auto group = q.size(1) / kv_heads;
  const auto queries = q.size(2);
  const auto positions = k.size(2);

  // From bfloat16, scores of 64 or more would be rounded to quarters and worse before exp().
  const auto wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto batch = q.size(0) * kv_heads;
  const auto grouped = q.to(wide).reshape({batch, group * queries, -1});
  const auto keys = k.to(wide).reshape({batch, positions, -1}).transpose(-1, -2);
  auto scores = ops::deterministic_matmul(grouped * scale, keys)
                    .view({-1, kv_heads, group, queries, positions});
  if (softcap) scores = at::tanh(scores / *softcap) * *softcap;
  const auto ones = at::ones({queries, positions}, q.options().dtype(at::kBool));
  const auto future = ones.triu(positions - queries + 1);
  constexpr auto kNever = -std::numeric_limits<double>::infinity();
  scores = scores.masked_fill(future, kNever);
  if (document_starts.defined()) {
    const auto at = at::arange(positions, document_starts.options());
    const auto earlier = at < document_starts.unsqueeze(-1);  // [B, T, S]: in other documents
    scores = scores.masked_fill(earlier.unsqueeze(1).unsqueeze(1), kNever);
  }
  const auto weights = ops::deterministic_softmax(scores).to(q.scalar_type());
  return ops::deterministic_matmul(weights.view({batch, group * queries, positions}),
                                   v.reshape({batch, positions, -1}))
      .view(q.sizes());
}

/// norm(x), or x without a norm. \param x  [B, T, heads, dk]
at::Tensor attention_normed(const std::optional<NormLayer>& norm, const at::Tensor& x, Mode mode) {
  if (!norm) return x;
  return (*norm)(x.flatten(-2), mode).view(x.sizes());
}

/// Whether ops::causal_attention() computes a path. With deterministic algorithms it is that of
/// flash on a GPU, too: LibTorch's backward passes for CUDA add to dq in any order.
bool uses_own_operator(const AttentionInputs& inputs, AttentionPath path) {
  if (path != AttentionPath::flash) return path == AttentionPath::automatic;
  return inputs.q.is_cuda() && at::globalContext().deterministicAlgorithms() &&
         can_use_flash(inputs);
}

/// \param k, v  [B, kv, T, dk]
void append(KeyValueCache& cache, const at::Tensor& k, const at::Tensor& v) {
  const auto count = k.size(2);
  EK_ASSERT(cache.length + count <= cache.keys.size(2));
  cache.keys.narrow(2, cache.length, count).copy_(k);
  cache.values.narrow(2, cache.length, count).copy_(v);
  cache.length += count;
}

}  // namespace

bool can_use_flash(const AttentionInputs& inputs) {
  return !inputs.softcap && !inputs.document_starts.defined() &&
         inputs.q.size(2) == inputs.k.size(2);
}

at::Tensor causal_attention(const AttentionInputs& inputs, AttentionPath path) {
  if (uses_own_operator(inputs, path)) {
    return ops::causal_attention(inputs.q.transpose(1, 2), inputs.k.transpose(1, 2),
                                 inputs.v.transpose(1, 2), inputs.scale, inputs.softcap,
                                 ops::defined_or_none(inputs.document_starts))
        .transpose(1, 2);
  }
  if (path == AttentionPath::explicit_scores || !can_use_flash(inputs)) {
    return explicit_attention(inputs);
  }
  if (!inputs.q.is_cpu()) {
    return at::scaled_dot_product_attention(inputs.q, inputs.k, inputs.v, /*attn_mask=*/{},
                                            /*dropout_p=*/0.0, /*is_causal=*/true, inputs.scale,
                                            /*enable_gqa=*/true);
  }
  // With AMX, LibTorch packs bfloat16 operands or not by its number of threads.
  const bool is_bf16 = inputs.q.scalar_type() == at::kBFloat16;
  const ops::SerialLibraries one_thread(is_bf16 && ops::multiplies_bf16_tiles());
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      inputs.q, inputs.k, inputs.v, /*dropout_p=*/0.0, /*is_causal=*/true, /*attn_mask=*/{},
      inputs.scale));
}

/// q times a learned scale, so that every attention operator works without one. [B, T, h, dk]
at::Tensor Attention::scaled(const at::Tensor& q) const {
  if (!scale.is_learned()) return q;
  return ops::affine(q.flatten(-2), scale.value()).view(q.sizes());
}

/// Norms and rotation in one pass of ops::qkv_norm_rope(). A norm that the operator does not have
/// runs before it; a norm of rotated values runs after it.
Attention::Heads Attention::fused_heads(const at::Tensor& products, const Rotary& rotary,
                                        Mode mode) const {
  constexpr std::size_t kParts = 3;
  const std::array<const std::optional<NormLayer>*, kParts> norms = {&q_norm, &k_norm, &v_norm};
  const std::array<bool, kParts> is_after_rotation = {q_norm_after_rotation, k_norm_after_rotation,
                                                      false};
  std::array<ops::HeadNorm, kParts> fused_norms;
  std::vector<at::Tensor> parts;  // q, k and v separately, if a norm needs one of them
  for (std::size_t i = 0; i < kParts; ++i) {
    if (!*norms[i] || is_after_rotation[i]) continue;
    if (const auto norm = (*norms[i])->head_norm(products)) {
      fused_norms[i] = *norm;
      continue;
    }
    const auto keys = kv_heads * head_width;
    if (parts.empty()) parts = products.split_with_sizes({heads * head_width, keys, keys}, -1);
    parts[i] = (**norms[i])(parts[i], mode);
  }
  const bool has_fused_norm = fused_norms[0].gain || fused_norms[1].gain || fused_norms[2].gain;
  auto [q, k, v] =
      !parts.empty() && !has_fused_norm
          ? ops::qkv_rope(parts[0], parts[1], parts[2], rotary.cos_sin)
          : ops::qkv_norm_rope(parts.empty() ? products : at::cat(parts, -1), rotary.cos_sin, heads,
                               kv_heads, fused_norms[0], fused_norms[1], fused_norms[2]);
  if (q_norm_after_rotation) q = attention_normed(q_norm, q, mode);
  if (k_norm_after_rotation) k = attention_normed(k_norm, k, mode);
  return {std::move(q), std::move(k), std::move(v)};
}

/// Queries, keys and values after norm and rotation.
/// \param products  W_qkv x. [B, T, (h + 2 kv) * dk]
Attention::Heads Attention::heads_of(const at::Tensor& products, const Rotary& rotary,
                                     Mode mode) const {
  if (fused) return fused_heads(products, rotary, mode);
  const auto query_width = heads * head_width;
  const auto key_width = kv_heads * head_width;
  const auto part = [&](std::int64_t from, std::int64_t width, std::int64_t count) {
    return products.narrow(-1, from, width).unflatten(-1, {count, head_width});
  };
  const auto rotated = [&](const at::Tensor& z, const std::optional<NormLayer>& norm, bool first) {
    return first ? attention_normed(norm, rotary(z), mode)
                 : rotary(attention_normed(norm, z, mode));
  };
  return {rotated(part(0, query_width, heads), q_norm, q_norm_after_rotation),
          rotated(part(query_width, key_width, kv_heads), k_norm, k_norm_after_rotation),
          attention_normed(v_norm, part(query_width + key_width, key_width, kv_heads), mode)};
}

/// The weighted sums of values. [B, T, h, dk]
at::Tensor Attention::context_of(const Heads& all, const Positions& positions, KeyValueCache* cache,
                                 const Observer* observer) const {
  const double factor = scale.is_learned() ? 1 : scale.fixed();
  const bool uses_operator = fused && path == AttentionPath::automatic;
  const bool is_observed = observer != nullptr && observer->attention;
  if (uses_operator && !is_observed && cache == nullptr && positions.packing == nullptr) {
    return ops::causal_attention(scaled(all.q), all.k, all.v, factor, value_of(softcap),
                                 ops::defined_or_none(positions.document_starts));
  }
  auto keys = all.k.transpose(1, 2);
  auto values = all.v.transpose(1, 2);
  if (cache != nullptr) {
    append(*cache, keys, values);
    keys = cache->keys.narrow(2, 0, cache->length);
    values = cache->values.narrow(2, 0, cache->length);
  }
  const AttentionInputs inputs = {.q = scaled(all.q).transpose(1, 2),
                                  .k = keys,
                                  .v = values,
                                  .scale = factor,
                                  .softcap = value_of(softcap),
                                  .document_starts = positions.document_starts};
  if (is_observed) observer->attention(l, inputs);
  const bool use_formula = !fused && path == AttentionPath::automatic;
  const auto attend = [&](const AttentionInputs& sequence) {
    return causal_attention(sequence, use_formula ? AttentionPath::explicit_scores : path);
  };
  const auto context = positions.packing == nullptr
                           ? attend(inputs)
                           : packed_attention(inputs, *positions.packing, attend);
  return context.transpose(1, 2);
}

at::Tensor Attention::operator()(const Activation& x, const Positions& positions, Mode mode,
                                 KeyValueCache* cache, const Observer* observer) const {
  const auto all = heads_of(linear(x, qkv.weight(mode)), positions.rotary, mode);
  const auto context = context_of(all, positions, cache, observer);
  const auto normed_context = [this, mode](const at::Tensor& rows) {
    return attention_normed(context_norm, rows, mode).flatten(-2);
  };
  const bool recomputes_norm = context_norm && context_norm->is_recomputed(recompute, mode);
  if (!recomputes_norm) return linear(normed_context(context), output.weight(mode));
  return linear({normed_context(context), context.detach(), normed_context}, output.weight(mode));
}

}  // namespace evenkeel::nn
