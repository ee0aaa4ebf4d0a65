// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>

#include "evenkeel/ops/attention/apply_rotary.h"
#include "evenkeel/ops/attention/qkv_norm_rope.h"
#include "evenkeel/ops/common/reference.h"
#include "ops/attention/attention_shapes.h"
#include "ops/operator_case.h"

namespace evenkeel::testing {
namespace {

void refused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       std::optional<double> softcap = {},
                       const std::optional<at::Tensor>& document_starts = {}) {
  ops::causal_attention(q, k, v, 1, softcap, document_starts);
}

void refused_starts(const std::vector<int>& values) {
  const auto q = at::ones({1, 5, 2, 8});
  refused_attention(q, q, q, {}, at::tensor(values, at::kInt).unsqueeze(0));
}

const std::vector<Refusal> kAttentionRefusals = {
    {"[causal_attention] q must be [B, T, heads, D] and k [B, S, kv_heads, D] of the same dtype, "
     "with T at most S and kv_heads a divisor of heads, but they are [1, 5, 3, 8] of float32 on "
     "cpu and [1, 5, 2, 8] of float32 on cpu",
     [] {
       const auto k = at::ones({1, 5, 2, 8});
       refused_attention(at::ones({1, 5, 3, 8}), k, k);
     }},
    {"[causal_attention] v must be [1, 5, 2, 8] like k, but is [1, 4, 2, 8]",
     [] {
       const auto k = at::ones({1, 5, 2, 8});
       refused_attention(k, k, at::ones({1, 4, 2, 8}));
     }},
    {"[causal_attention] softcap must be above 0 and finite, or absent, but is 0",
     [] {
       const auto k = at::ones({1, 5, 2, 8});
       refused_attention(k, k, k, 0.0);
     }},
    {"[causal_attention] document_starts must be [B, T] of int32 on cpu, but is [1, 5] of int64 on "
     "cpu",
     [] {
       const auto k = at::ones({1, 5, 2, 8});
       refused_attention(k, k, k, {}, at::zeros({1, 5}, at::kLong));
     }},
    {"[causal_attention] document_starts must be non-decreasing, from 0 to the query's own "
     "position, "
     "but that of query 2 at position 2 is -7 after 0",
     [] { refused_starts({0, 0, -7, 0, 0}); }},
    {"[causal_attention] document_starts must be non-decreasing, from 0 to the query's own "
     "position, "
     "but that of query 1 at position 1 is 2 after 0",
     [] { refused_starts({0, 2, 2, 2, 2}); }},
    {"[causal_attention] document_starts must be non-decreasing, from 0 to the query's own "
     "position, "
     "but that of query 3 at position 3 is 0 after 1",
     [] { refused_starts({0, 1, 1, 0, 0}); }}};

/// CausalAttention.IsExactInFloat32 and -InBfloat16 have bounds for the results in fewer bits.
OperatorCase causal_attention_case(const AttentionShape& shape) {
  return {.name = "causal_attention_" + std::to_string(shape.queries) + "_" +
                  std::to_string(shape.keys) + "_" + std::to_string(shape.heads) + "_" +
                  std::to_string(shape.kv_heads) + "_" + std::to_string(shape.width),
          .inputs =
              [=](std::int64_t n) {
                return Inputs{rows({n, shape.queries, shape.heads, shape.width}),
                              rows({n, shape.keys, shape.kv_heads, shape.width}),
                              rows({n, shape.keys, shape.kv_heads, shape.width})};
              },
          .run = [=](const Tensors& in) { return fused_attention(shape, in); },
          .formula = [=](const Tensors& in) { return attention_formula(shape, in); },
          .refusals = kAttentionRefusals,
          .rows = 2,
          .rows_of_threads = 2,
          .is_rounded_once = false};
}

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kHeadWidth = 6, kPositions = 5;
constexpr double kAttentionEpsilon = 1e-3;

/// Cosine and sine of other angles at every position. [T, 2, D / 2]
at::Tensor angle_table(std::int64_t positions, std::int64_t width) {
  const auto angle = at::outer(at::arange(positions, at::kDouble), at::linspace(0.1, 2, width / 2));
  return at::stack({angle.cos(), angle.sin()}, 1).to(at::kDouble);
}

/// (a, b) -> (a cos - b sin, b cos + a sin), the halves of each head as pairs.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos_sin) {
  const auto halves = x.chunk(2, -1);
  const auto c = cos_sin.select(1, 0).unsqueeze(1), s = cos_sin.select(1, 1).unsqueeze(1);
  return at::cat({halves[0] * c - halves[1] * s, halves[1] * c + halves[0] * s}, -1);
}

/// Which of q, k and v are normed.
struct Normed {
  bool q, k, v;
};

/// The gains among the inputs: after the products and the table of angles.
std::array<std::optional<at::Tensor>, 3> gains(const Normed& normed, const Tensors& in) {
  std::array<std::optional<at::Tensor>, 3> gain;
  std::size_t next = 2;
  if (normed.q) gain[0] = in[next++];
  if (normed.k) gain[1] = in[next++];
  if (normed.v) gain[2] = in[next++];
  return gain;
}

Tensors fused_qkv(const Normed& normed, const Tensors& in) {
  const auto gain = gains(normed, in);
  const auto [q, k, v] =
      ops::qkv_norm_rope(in[0], in[1], kHeads, kKvHeads, {gain[0], kAttentionEpsilon},
                         {gain[1], kAttentionEpsilon}, {gain[2], kAttentionEpsilon});
  return {q, k, v};
}

Tensors qkv_formula(const Normed& normed, const Tensors& in) {
  const auto gain = gains(normed, in);
  const auto heads = in[0].unflatten(-1, {kHeads + 2 * kKvHeads, -1});
  const auto of = [&](std::int64_t first, std::int64_t count, std::size_t part) {
    const auto x = heads.narrow(2, first, count);
    return gain[part] ? ops::reference::rms_rows(x, kAttentionEpsilon) * *gain[part] : x;
  };
  return {rotated(of(0, kHeads, 0), in[1]), rotated(of(kHeads, kKvHeads, 1), in[1]),
          of(kHeads + kKvHeads, kKvHeads, 2)};
}

void refused_qkv(at::IntArrayRef products, std::int64_t gain) {
  ops::qkv_norm_rope(at::ones(products), angle_table(5, 6).to(at::kFloat), kHeads, kKvHeads,
                     {at::ones({gain})}, {}, {});
}

OperatorCase qkv_norm_rope_case(const char* name, const Normed& normed,
                                std::int64_t width = kHeadWidth) {
  return {
      .name = std::string("qkv_norm_rope_") + name,
      .inputs =
          [=](std::int64_t n) {
            Inputs in = {rows({n, kPositions, (kHeads + 2 * kKvHeads) * width}),
                         {angle_table(kPositions, width), Role::constant}};
            for (const bool has_gain : {normed.q, normed.k, normed.v}) {
              if (has_gain) in.push_back(vector(width));
            }
            return in;
          },
      .run = [=](const Tensors& in) { return fused_qkv(normed, in); },
      .formula = [=](const Tensors& in) { return qkv_formula(normed, in); },
      .tolerance = {.float32 = 4 * 0x1p-24, .bfloat16 = 4 * 0x1p-24},
      .refusals = {{"[qkv_norm_rope] qkv must be [B, T, 8 * D] with an even D for 4 heads "
                    "and 2 key heads, but is [2, 5, 47]",
                    [] { refused_qkv({2, 5, 47}, 6); }},
                   {"[qkv_norm_rope] cos_sin must be [4, 2, 3] of float32 on cpu, but is [5, 2, "
                    "3] of float32 on cpu",
                    [] { refused_qkv({2, 4, 48}, 6); }},
                   {"[qkv_norm_rope] q_gain must be [6] of float32 on cpu, but is [5] of "
                    "float32 on cpu",
                    [] { refused_qkv({2, 5, 48}, 5); }}},
      .rows = 14,
      .rows_of_threads = 40};
}

OperatorCase apply_rotary_case() {
  return {.name = "apply_rotary",
          .inputs =
              [](std::int64_t n) {
                return Inputs{rows({n, kPositions, 3, kHeadWidth}),
                              {angle_table(kPositions, kHeadWidth), Role::constant}};
              },
          .run = [](const Tensors& in) { return Tensors{ops::apply_rotary(in[0], in[1])}; },
          .formula = [](const Tensors& in) { return Tensors{rotated(in[0], in[1])}; },
          .refusals =
              {{"[apply_rotary] x must be [B, T, heads, D] and cos_sin [T, 2, D / 2], but they are "
                "[2, 4, 3, 6] and [5, 2, 3]",
                [] { ops::apply_rotary(at::ones({2, 4, 3, 6}), at::ones({5, 2, 3})); }},
               {"[apply_rotary] cos_sin must be float32 on cpu, for x of bfloat16, but is bfloat16 "
                "on cpu",
                [] {
                  ops::apply_rotary(at::ones({2, 5, 3, 6}, at::kBFloat16),
                                    at::ones({5, 2, 3}, at::kBFloat16));
                }}}};
}

}  // namespace

std::vector<OperatorCase> attention_cases() {
  std::vector<OperatorCase> all = {qkv_norm_rope_case("none", {false, false, false}),
                                   qkv_norm_rope_case("qk", {true, true, false}),
                                   qkv_norm_rope_case("qkv", {true, true, true}),
                                   qkv_norm_rope_case("v", {false, false, true}),
                                   qkv_norm_rope_case("kv", {false, true, true}),
                                   qkv_norm_rope_case("qk_48", {true, true, false}, 48),
                                   qkv_norm_rope_case("qk_64", {true, true, false}, 64),
                                   qkv_norm_rope_case("qkv_96", {true, true, true}, 96),
                                   qkv_norm_rope_case("kv_128", {false, true, true}, 128),
                                   qkv_norm_rope_case("qk_256", {true, true, false}, 256),
                                   qkv_norm_rope_case("none_64", {false, false, false}, 64),
                                   apply_rotary_case()};
  for (const auto& shape : kAttentionShapes) all.push_back(causal_attention_case(shape));
  return all;
}

}  // namespace evenkeel::testing
