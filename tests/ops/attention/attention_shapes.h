// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "evenkeel/ops/attention/causal_attention.h"
#include "ops/gradients.h"

namespace evenkeel::testing {

/// Sizes and options of one attention.
struct AttentionShape {
  std::int64_t queries, keys, heads, kv_heads, width;
  std::optional<double> softcap;
  double scale = 0.3;
};

/// Around the edges of tiles (6 and 12 rows, 16 and 32 columns) and of passes (24 and 48 queries,
/// 256 and 512 keys); queries after earlier positions; grouped heads; widths that fill no vector. A
/// single query has a kernel of its own: 512 keys at a time, four of them at once.
inline const std::vector<AttentionShape> kAttentionShapes = {
    {1, 1, 1, 1, 2, {}},      {1, 40, 2, 1, 8, {}},     {5, 5, 2, 2, 6, {}},
    {24, 24, 1, 1, 16, {}},   {25, 33, 4, 2, 20, {}},   {49, 49, 2, 1, 48, {}},
    {3, 300, 2, 1, 32, {}},   {130, 130, 3, 1, 40, {}}, {257, 257, 2, 2, 64, {}},
    {40, 530, 2, 1, 24, {}},  {525, 525, 1, 1, 34, {}}, {31, 31, 2, 1, 16, 2.0},
    {100, 513, 2, 2, 8, 5.0}, {70, 70, 1, 1, 128, {}},  {50, 50, 1, 1, 256, {}},
    {1, 513, 2, 1, 48, {}},   {1, 1030, 3, 1, 37, {}},  {1, 603, 4, 2, 64, 5.0},
};

/// softmax(cap(scale q k^T)) v, with materialized scores. arXiv:1706.03762, eq. 1
inline Tensors attention_formula(const AttentionShape& each, const Tensors& in) {
  const auto group = each.heads / each.kv_heads;
  const auto q = in[0].transpose(1, 2);
  const auto k = in[1].transpose(1, 2).repeat_interleave(group, 1);
  const auto v = in[2].transpose(1, 2).repeat_interleave(group, 1);
  auto scores = at::matmul(q, k.transpose(-1, -2)) * each.scale;
  if (each.softcap) scores = at::tanh(scores / *each.softcap) * *each.softcap;
  const auto future =
      at::ones({each.queries, each.keys}, at::kBool).triu(each.keys - each.queries + 1);
  scores = scores.masked_fill(future, -std::numeric_limits<double>::infinity());
  return {at::matmul(at::softmax(scores, -1), v).transpose(1, 2)};
}

inline Tensors fused_attention(const AttentionShape& each, const Tensors& in) {
  return {ops::causal_attention(in[0], in[1], in[2], each.scale, each.softcap)};
}

}  // namespace evenkeel::testing
