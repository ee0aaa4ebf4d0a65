// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/gemm_bf16.h"
#include "evenkeel/kernels/cpu/common/causal_attention_mask.h"
#include "evenkeel/kernels/cpu/common/causal_attention_part.h"

/// The backward pass of causal attention in bfloat16, for a Gemm of gemm_bf16.h. Scores are stored
/// transposed, one row per key, so p^T and ds^T are left operands of the GEMMs for dv and dk
/// without a copy. Only dq needs a second copy of ds^T, packed in pairs of keys. With p = exp(s -
/// lse) and delta_i = dy_i . y_i, in one block:
///
///   dv += p^T dy        ds^T = p^T (v dy^T - delta)    dk += ds^T q        dq^T += k^T ds^T
namespace evenkeel::kernels::cpu::bf16_backward {

inline constexpr std::int64_t kQueries = 128, kKeys = 128;                        // block size
inline constexpr std::int64_t kScores = kQueries + 16, kWeights = kQueries + 32;  // row strides

/// Offsets of the buffers in scratch, in floats; `end` is the size of scratch.
struct ScratchLayout {
  explicit ScratchLayout(const AttentionSizes& sizes)
      : depth(up_to(kTwoTiles, sizes.width)),
        positions(up_to(kTwoTiles, sizes.keys)),
        key_stride(positions + 32),
        key_rows(0),
        value_rows(key_rows + positions * depth / 2),
        key_columns(value_rows + positions * depth / 2),
        dk(key_columns + depth * key_stride / 2),
        dv(dk + positions * depth),
        queries(dv + positions * depth),
        query_rows(queries + kQueries * depth / 2),
        upstream(query_rows + kQueries * depth / 2),
        upstream_rows(upstream + kQueries * depth / 2),
        scores(upstream_rows + kQueries * depth / 2),
        dp(scores + kKeys * kScores),
        weights(dp + kKeys * kScores),
        gradients(weights + kKeys * kWeights / 2),
        pairs(gradients + kKeys * kWeights / 2),
        dq(pairs + kKeys * kQueries / 2),
        end(dq + depth * kScores) {}
  std::int64_t depth, positions, key_stride;
  std::int64_t key_rows, value_rows, key_columns, dk, dv, queries, query_rows, upstream,
      upstream_rows, scores, dp, weights, gradients, pairs, dq, end;
};

/// The buffers in scratch.
struct Buffers {
  ScratchLayout layout;
  Bf16 *key_rows, *value_rows;                // left factors [keys, width]
  Bf16* key_columns;                          // left factor [width, keys]
  float *dk, *dv;                             // [keys, width]
  std::uint32_t *queries, *upstream;          // right factors [width, queries]
  std::uint32_t *query_rows, *upstream_rows;  // right factors [queries, width]
  float *scores, *dp;                         // [keys, queries]: s^T, and dp^T = v dy^T
  Bf16 *weights, *gradients;                  // left factors [keys, queries]: p^T, ds^T
  std::uint32_t* pairs;                       // right factor [keys, queries]: ds^T
  float* dq;                                  // [width, queries]
  float lse[kQueries], delta[kQueries];       // lse in units of log 2; delta above

  Buffers(const AttentionSizes& sizes, float* scratch) : layout(sizes) {
    const auto rows = [&](std::int64_t begin) { return reinterpret_cast<Bf16*>(scratch + begin); };
    const auto as_pairs = [&](std::int64_t begin) {
      return reinterpret_cast<std::uint32_t*>(scratch + begin);
    };
    key_rows = rows(layout.key_rows), value_rows = rows(layout.value_rows);
    key_columns = rows(layout.key_columns);
    dk = scratch + layout.dk, dv = scratch + layout.dv;
    queries = as_pairs(layout.queries), upstream = as_pairs(layout.upstream);
    query_rows = as_pairs(layout.query_rows), upstream_rows = as_pairs(layout.upstream_rows);
    scores = scratch + layout.scores, dp = scratch + layout.dp;
    weights = rows(layout.weights), gradients = rows(layout.gradients);
    pairs = as_pairs(layout.pairs), dq = scratch + layout.dq;
  }
};

/// The factors that convert a dot product to a score.
struct Factors {
  __m512 scale;  // of scores, in units of log 2; with a cap: of the argument of tanh
  __m512 cap;    // softcap in units of log 2
  bool has_cap;
};

/// Sixteen weights and their gradients.
EK_AMX_INLINE void softmax_backward_16(const float* scores, const float* dp, const float* lse,
                                       const float* delta, const Factors& factors,
                                       __mmask16 visible, __m512& weight, __m512& gradient) {
  __m512 score = _mm512_loadu_ps(scores), rest = _mm512_set1_ps(1), scale = factors.scale;
  if (factors.has_cap) {
    score = avx512::tanh_ps(_mm512_mul_ps(score, scale));
    rest = _mm512_fnmadd_ps(score, score, rest);
    scale = factors.cap;
  }
  // A positive value is a rounding error. The order of the operands keeps NaN.
  const __m512 below =
      _mm512_min_ps(_mm512_setzero_ps(), _mm512_fmsub_ps(score, scale, _mm512_loadu_ps(lse)));
  weight = _mm512_maskz_mov_ps(visible, avx512::exp2_ps(below));
  const __m512 difference = _mm512_sub_ps(_mm512_loadu_ps(dp), _mm512_loadu_ps(delta));
  gradient = _mm512_maskz_mul_ps(visible, weight, difference);
  if (factors.has_cap) gradient = _mm512_mul_ps(gradient, rest);
}

/// Two rows of weights and gradients, queries [from, to).
/// \param visible  the visible queries of the first key, and of the second
EK_AMX_INLINE void softmax_backward_pair(const Buffers& buffers, std::int64_t j, std::int64_t from,
                                         std::int64_t to, const Range (&visible)[2],
                                         const Factors& factors) {
  for (auto i = from; i < to; i += kTwoTiles) {
    __m512i gradients[2];
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
      const auto offset = (j + row) * kScores + i;
      const __mmask32 mask = avx512::tail_mask_32(visible[row].end - i) &
                             ~avx512::tail_mask_32(visible[row].begin - i);
      __m512 weight[2], gradient[2];
      softmax_backward_16(buffers.scores + offset, buffers.dp + offset, buffers.lse + i,
                          buffers.delta + i, factors, static_cast<__mmask16>(mask), weight[0],
                          gradient[0]);
      softmax_backward_16(buffers.scores + offset + 16, buffers.dp + offset + 16,
                          buffers.lse + i + 16, buffers.delta + i + 16, factors,
                          static_cast<__mmask16>(mask >> 16), weight[1], gradient[1]);
      const auto to_row = (j + row) * kWeights + i;
      avx512::store_32(buffers.weights + to_row, weight[0], weight[1]);
      gradients[row] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(gradient[1], gradient[0]));
      _mm512_storeu_si512(buffers.gradients + to_row, gradients[row]);
    }
    std::uint32_t* const pairs = buffers.pairs + i * (kKeys / 2) + j / 2 * kTile;
    avx512::store_pairs(pairs, pairs + kKeys / 2 * kTile, gradients[0], gradients[1]);
  }
}

/// Packs queries [q0, q0 + rows) of a head and their dy, lse and d.
EK_AMX_INLINE void pack_queries(const AttentionSizes& sizes, const AttentionGradient<Bf16>& head,
                                std::int64_t h, std::int64_t q0, std::int64_t rows,
                                Buffers& buffers) {
  const auto depth = buffers.layout.depth;
  const auto all = up_to(kTwoTiles, rows);
  const HeadRows<const Bf16> q = {head.q.rows + h * head.q_head, head.q.stride};
  const HeadRows<const Bf16> dy = {head.dy.rows + h * head.dy_head, head.dy.stride};
  const RowBlock queries = {q, q0, rows, all, sizes.width};
  const RowBlock upstream = {dy, q0, rows, all, sizes.width};
  pack_as_columns(queries, depth, buffers.queries);
  pack_as_rows(queries, depth, buffers.query_rows, kQueries / 2 * kTile);
  pack_as_columns(upstream, depth, buffers.upstream);
  pack_as_rows(upstream, depth, buffers.upstream_rows, kQueries / 2 * kTile);
  for (std::int64_t i = 0; i < rows; ++i) {
    const Bf16* const y = head.y.rows + h * head.y_head + (q0 + i) * head.y.stride;
    __m512 sum = _mm512_setzero_ps();
    for (std::int64_t d = 0; d < sizes.width; d += 16) {
      const auto mask = avx512::tail_mask_16(sizes.width - d);
      sum = _mm512_fmadd_ps(avx512::load_16(y + d, mask),
                            avx512::load_16(upstream.row(i) + d, mask), sum);
    }
    buffers.delta[i] = _mm512_reduce_add_ps(sum);
    buffers.lse[i] = head.lse[h * sizes.queries + q0 + i] * static_cast<float>(kLog2OfE);
  }
  std::fill(buffers.delta + rows, buffers.delta + all, 0.F);
  std::fill(buffers.lse + rows, buffers.lse + all, 0.F);
}

/// The transpose of dq, [width, queries], times `factor`, rounded.
EK_AMX_INLINE void store_dq(const float* dq, std::int64_t rows, std::int64_t width, float factor,
                            const HeadRows<Bf16>& to) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (std::int64_t i = 0; i < rows; i += 16) {
    for (std::int64_t d = 0; d < width; d += 16) {
      __m512i square[16];
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) square[k] = _mm512_loadu_si512(dq + (d + k) * kScores + i);
      avx512::transpose(square);
      for (int k = 0; k < 16 && i + k < rows; ++k) {
        avx512::store_16(to.rows + (i + k) * to.stride + d,
                         _mm512_mul_ps(_mm512_castsi512_ps(square[k]), factors),
                         avx512::tail_mask_16(width - d));
      }
    }
  }
}

/// A block of scores: a block of queries and a block of keys. Indices of keys and queries are
/// relative to the first of their block.
struct ScoreBlock {
  std::int64_t q0, rows, all;  // queries [q0, q0 + rows), rounded up to whole tiles: all
  std::int64_t k0, high;       // keys from k0 on, whole tiles
  std::int64_t past_length;    // position of query q0

  /// The keys that two tiles of queries see. \param i  the first of these queries
  EK_AMX_INLINE std::int64_t visible_to(std::int64_t i) const {
    return std::clamp<std::int64_t>(up_to(kTwoTiles, past_length + i + kTwoTiles - k0), 0, high);
  }
  /// The first query, of a pair of tiles, that sees key j.
  EK_AMX_INLINE std::int64_t first_of(std::int64_t j) const {
    return std::clamp<std::int64_t>(k0 + j - past_length, 0, all) / kTwoTiles * kTwoTiles;
  }
};

/// scores = k q^T, dp = v dy^T.
template <typename Gemm>
EK_AMX_INLINE void multiply_scores(const ScoreBlock& block, Buffers& buffers) {
  const auto depth = buffers.layout.depth;
  for (std::int64_t i = 0; i < block.all; i += kTwoTiles) {
    const RightOperand q = {buffers.queries + i / 2 * depth, depth / 2 * kTile};
    const RightOperand dy = {buffers.upstream + i / 2 * depth, depth / 2 * kTile};
    multiply<Gemm, false>({buffers.key_rows + block.k0 * depth, depth}, q, buffers.scores + i,
                          kScores, block.visible_to(i), kTwoTiles, depth);
    multiply<Gemm, false>({buffers.value_rows + block.k0 * depth, depth}, dy, buffers.dp + i,
                          kScores, block.visible_to(i), kTwoTiles, depth);
  }
}

/// weights = p^T, gradients and pairs = ds^T.
EK_AMX_INLINE void differentiate_softmax(const AttentionSizes& sizes,
                                         const AttentionGradient<Bf16>& head,
                                         const ScoreBlock& block, const Factors& factors,
                                         Buffers& buffers) {
  const auto past_length = sizes.keys - sizes.queries;
  for (std::int64_t j = 0; j < block.high; j += 2) {
    const Range visible[2] = {
        visible_queries(head.document_starts, block.k0 + j, past_length, block.q0, block.rows),
        visible_queries(head.document_starts, block.k0 + j + 1, past_length, block.q0, block.rows)};
    softmax_backward_pair(buffers, j, block.first_of(j / kTwoTiles * kTwoTiles), block.all, visible,
                          factors);
  }
}

/// dv += p^T dy, dk += ds^T q. \param wide  values of a head, whole tiles
template <typename Gemm>
EK_AMX_INLINE void add_dk_dv(const ScoreBlock& block, std::int64_t wide, Buffers& buffers) {
  const auto depth = buffers.layout.depth;
  for (std::int64_t j = 0; j < block.high; j += kTwoTiles) {
    const auto first = block.first_of(j);
    multiply<Gemm, true>({buffers.weights + j * kWeights + first, kWeights},
                         {buffers.upstream_rows + first / 2 * kTile, kQueries / 2 * kTile},
                         buffers.dv + (block.k0 + j) * depth, depth, kTwoTiles, wide,
                         block.all - first);
    multiply<Gemm, true>({buffers.gradients + j * kWeights + first, kWeights},
                         {buffers.query_rows + first / 2 * kTile, kQueries / 2 * kTile},
                         buffers.dk + (block.k0 + j) * depth, depth, kTwoTiles, wide,
                         block.all - first);
  }
}

/// dq^T += k^T ds^T. \param wide  values of a head, whole tiles
template <typename Gemm>
EK_AMX_INLINE void add_dq(const ScoreBlock& block, std::int64_t wide, Buffers& buffers) {
  for (std::int64_t i = 0; i < block.all; i += kTwoTiles) {
    multiply<Gemm, true>({buffers.key_columns + block.k0, buffers.layout.key_stride},
                         {buffers.pairs + i * (kKeys / 2), kKeys / 2 * kTile}, buffers.dq + i,
                         kScores, wide, kTwoTiles, block.visible_to(i));
  }
}

/// Queries [q0, q0 + kQueries) of one head and the keys of a range: adds to dk and dv, and stores
/// dq.
template <typename Gemm>
EK_AMX_INLINE void backward(const AttentionSizes& sizes, const AttentionGradient<Bf16>& head,
                            std::int64_t h, std::int64_t q0, const Range& keys,
                            const Factors& factors, Buffers& buffers) {
  const auto rows = std::min(kQueries, sizes.queries - q0);
  const auto past_length = sizes.keys - sizes.queries + q0;  // the position of the first query
  pack_queries(sizes, head, h, q0, rows, buffers);
  std::fill(buffers.dq, buffers.dq + buffers.layout.depth * kScores, 0.F);
  const auto begin = std::max(first_key_block(head.document_starts, q0, kKeys), keys.begin);
  for (auto k0 = begin; k0 < std::min(past_length + rows, keys.end); k0 += kKeys) {
    const ScoreBlock block = {.q0 = q0,
                              .rows = rows,
                              .all = up_to(kTwoTiles, rows),
                              .k0 = k0,
                              .high = up_to(kTwoTiles, std::min(kKeys, past_length + rows - k0)),
                              .past_length = past_length};
    multiply_scores<Gemm>(block, buffers);
    differentiate_softmax(sizes, head, block, factors, buffers);
    const auto wide = up_to(kTile, sizes.width);
    if (head.part.has_dk_dv()) add_dk_dv<Gemm>(block, wide, buffers);
    if (head.part.has_dq()) add_dq<Gemm>(block, wide, buffers);
  }
  if (!head.part.has_dq()) return;
  store_dq(buffers.dq, rows, sizes.width, static_cast<float>(sizes.scale),
           {head.dq.rows + h * head.dq_head + q0 * head.dq.stride, head.dq.stride});
}

/// `count` rows of a sum, times `factor`, rounded.
EK_AMX_INLINE void store_rows(const float* from, std::int64_t depth, std::int64_t count,
                              std::int64_t width, float factor, const HeadRows<Bf16>& to) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (std::int64_t j = 0; j < count; ++j) {
    for (std::int64_t d = 0; d < width; d += 16) {
      avx512::store_16(to.rows + j * to.stride + d,
                       _mm512_mul_ps(_mm512_loadu_ps(from + j * depth + d), factors),
                       avx512::tail_mask_16(width - d));
    }
  }
}

EK_AMX_INLINE Factors factors_of(const AttentionSizes& sizes) {
  const bool has_cap = sizes.softcap > 0;
  const double scale = has_cap ? sizes.scale / sizes.softcap : sizes.scale * kLog2OfE;
  return {.scale = _mm512_set1_ps(static_cast<float>(scale)),
          .cap = _mm512_set1_ps(static_cast<float>(sizes.softcap * kLog2OfE)),
          .has_cap = has_cap};
}

inline BackwardBlocks blocks() {
  return {.queries = kQueries, .keys = kKeys};
}

/// Floats of scratch, which begins at a multiple of 64 bytes.
inline std::int64_t scratch_size(const AttentionSizes& sizes) {
  return ScratchLayout(sizes).end;
}

/// A part of dq, dk and dv of one key head.
template <typename Gemm>
EK_AMX_INLINE void run(const AttentionSizes& sizes, const AttentionGradient<Bf16>& head,
                       float* scratch) {
  [[maybe_unused]] const typename Gemm::Scope scope;
  Buffers buffers(sizes, scratch);
  const auto depth = buffers.layout.depth;
  const auto queries = queries_of(sizes, head.part, kQueries);
  const auto keys = keys_of(sizes, head.part, kKeys);
  const auto first = keys.begin, count = keys.end - first, all = up_to(kTwoTiles, count);
  const RowBlock key_rows = {head.k, first, count, all, sizes.width};
  copy_rows(key_rows, depth, buffers.key_rows + first * depth);
  copy_rows({head.v, first, count, all, sizes.width}, depth, buffers.value_rows + first * depth);
  copy_transposed(key_rows, depth, buffers.key_columns + first, buffers.layout.key_stride);
  if (head.part.has_dk_dv()) {
    std::fill_n(buffers.dk + first * depth, all * depth, 0.F);
    std::fill_n(buffers.dv + first * depth, all * depth, 0.F);
  }
  const Factors factors = factors_of(sizes);
  for (std::int64_t h = 0; h < head.heads; ++h) {
    for (auto q0 = queries.begin; q0 < queries.end; q0 += kQueries) {
      backward<Gemm>(sizes, head, h, q0, keys, factors, buffers);
    }
  }
  if (!head.part.has_dk_dv()) return;
  const auto rows_from = [first](const HeadRows<Bf16>& rows) {
    return HeadRows<Bf16>{rows.rows + first * rows.stride, rows.stride};
  };
  store_rows(buffers.dk + first * depth, depth, count, sizes.width, static_cast<float>(sizes.scale),
             rows_from(head.dk));
  store_rows(buffers.dv + first * depth, depth, count, sizes.width, 1, rows_from(head.dv));
}

}  // namespace evenkeel::kernels::cpu::bf16_backward
