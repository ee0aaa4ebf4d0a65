// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/attention.h"

#include <ATen/ATen.h>

#include <limits>

#include "evenkeel/base/error.h"

namespace evenkeel::nn {

namespace {

/// Scores and weights written down: the meaning of attention, and the way for what flash lacks.
at::Tensor explicit_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              double scale, std::optional<double> softcap) {
  const auto kv_heads = k.size(1);
  const auto group = q.size(1) / kv_heads;
  const auto queries = q.size(2);
  const auto positions = k.size(2);

  // From bfloat16, scores of 64 or more would be rounded to quarters and worse before exp().
  const auto wide = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto grouped = q.unflatten(1, {kv_heads, group}).to(wide);  // [B, kv, g, T, dk]
  const auto keys = k.unsqueeze(2).to(wide).transpose(-1, -2);      // [B, kv, 1, dk, S]
  auto scores = at::matmul(grouped * scale, keys);                  // [B, kv, g, T, S]
  if (softcap) scores = at::tanh(scores / *softcap) * *softcap;
  const auto ones = at::ones({queries, positions}, q.options().dtype(at::kBool));
  const auto future = ones.triu(positions - queries + 1);
  scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  const auto weights = at::softmax(scores, -1).to(q.scalar_type());
  return at::matmul(weights, v.unsqueeze(2)).flatten(1, 2);
}

/// A norm on heads side by side: x [B, T, heads, dk].
at::Tensor normed(const std::optional<NormLayer>& norm, const at::Tensor& x) {
  if (!norm) return x;
  return (*norm)(x.flatten(-2)).view(x.sizes());
}

void append(KeyValueCache& cache, const at::Tensor& k, const at::Tensor& v) {
  const auto count = k.size(2);
  EK_ASSERT(cache.length + count <= cache.keys.size(2));
  cache.keys.narrow(2, cache.length, count).copy_(k);
  cache.values.narrow(2, cache.length, count).copy_(v);
  cache.length += count;
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<double> softcap, AttentionPath path) {
  const bool flash_can = !softcap && q.size(2) == k.size(2);
  if (path == AttentionPath::explicit_scores || !flash_can) {
    return explicit_attention(q, k, v, scale, softcap);
  }
  return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
      q, k, v, /*dropout_p=*/0.0, /*is_causal=*/true, /*attn_mask=*/{}, scale));
}

at::Tensor Attention::operator()(const at::Tensor& x, const Rotary& rotary,
                                 KeyValueCache* cache) const {
  const auto products = at::linear(x, qkv);  // [B, T, (h + 2 kv) * dk]
  const auto query_width = heads * head_width;
  const auto key_width = kv_heads * head_width;
  const auto part = [&](std::int64_t from, std::int64_t width, std::int64_t count) {
    return products.narrow(-1, from, width).unflatten(-1, {count, head_width});
  };
  const auto turned = [&](const at::Tensor& z, const std::optional<NormLayer>& norm, bool first) {
    return first ? normed(norm, rotary(z)) : rotary(normed(norm, z));
  };
  const auto q = turned(part(0, query_width, heads), q_norm, q_norm_after_rotation);
  const auto k = turned(part(query_width, key_width, kv_heads), k_norm, k_norm_after_rotation);
  const auto v = normed(v_norm, part(query_width + key_width, key_width, kv_heads));

  auto keys = k.transpose(1, 2);
  auto values = v.transpose(1, 2);
  if (cache != nullptr) {
    append(*cache, keys, values);
    keys = cache->keys.narrow(2, 0, cache->length);
    values = cache->values.narrow(2, 0, cache->length);
  }
  auto context = causal_attention(q.transpose(1, 2), keys, values, scale, softcap, path);
  context = normed(context_norm, context.transpose(1, 2));
  return at::linear(context.flatten(-2), output);
}

}  // namespace evenkeel::nn
