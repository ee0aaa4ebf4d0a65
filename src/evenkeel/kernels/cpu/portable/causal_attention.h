// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

/// Causal attention of one key head, in tiles. Scores are never materialized.
///
///   s_ij = cap(scale q_i . k_j),  begins_i <= j <= i + keys - queries
///   y_i  = sum_j p_ij v_j,        p_ij = exp(s_ij - lse_i),  lse_i = ln sum_j exp(s_ij)
///   cap(s) = softcap tanh(s / softcap)
///
/// Arithmetic is in OpMathType<T>; results are rounded once. Bfloat16 has kernels of its own where
/// the processor has AMX or AVX-512 BF16 (causal_attention_bf16.h).
/// \source Milakov and Gimelshein 2018, arXiv:1805.02867 (the running softmax); Dao et al. 2022,
///         arXiv:2205.14135 (tiles, and the backward pass from lse)
namespace evenkeel::kernels::cpu {

/// The sizes and options that all heads share.
struct AttentionSizes {
  std::int64_t queries = 0;  // the last of the positions
  std::int64_t keys = 0;     // all positions
  std::int64_t width = 0;    // of a head
  double scale = 1;
  double softcap = 0;  // 0: none
};

/// Rows of one head: position i begins at `rows + i * stride`.
template <typename T>
struct HeadRows {
  T* rows = nullptr;
  std::int64_t stride = 0;
};

/// A key head and the query heads that read it (grouped-query attention).
template <typename T>
struct AttentionHead {
  HeadRows<const T> q, k, v;  // q, y: of the first query head
  HeadRows<T> y;
  OpMathType<T>* lse = nullptr;  // [heads, queries]
  const std::int32_t* document_starts =
      nullptr;  // [queries], non-decreasing: the first visible key; null: 0
  std::int64_t heads = 1;
  std::int64_t q_head = 0, y_head = 0;  // stride between heads, in values
  OpMathType<T>* largest = nullptr;     // [heads], or null: becomes max(itself, all cap(s))
};

/// What one call of causal_attention_backward() computes: all of dq, dk and dv, or dq of some
/// queries, or dk and dv of some keys. A gradient has the same bits in each part that contains it.
struct AttentionPart {
  std::int64_t query_begin = 0, query_end = 0;  // of dq: multiples of BackwardBlocks::queries, or
                                                // the end
  std::int64_t key_begin = 0, key_end = 0;      // of dk and dv: likewise of BackwardBlocks::keys
  bool has_dq() const { return query_begin < query_end; }
  bool has_dk_dv() const { return key_begin < key_end; }
};
inline AttentionPart whole_part(const AttentionSizes& sizes) {
  return {.query_end = sizes.queries, .key_end = sizes.keys};
}

/// The blocks of queries and of keys in which causal_attention_backward() works on this processor.
struct BackwardBlocks {
  std::int64_t queries = 0, keys = 0;
};

/// The tensors of the backward pass, with fields as in AttentionHead.
template <typename T>
struct AttentionGradient {
  HeadRows<const T> q, k, v, y, dy;
  const OpMathType<T>* lse = nullptr;
  HeadRows<T> dq, dk, dv;
  const std::int32_t* document_starts = nullptr;
  std::int64_t heads = 1;
  std::int64_t q_head = 0, y_head = 0, dy_head = 0, dq_head = 0;
  AttentionPart part;  // set by the caller: whole_part()
};

/// The size of `scratch` for causal_attention() and causal_attention_backward(), in values.
/// `scratch` is aligned to 64 bytes.
template <typename T>
std::int64_t causal_attention_scratch(const AttentionSizes& sizes);
template <typename T>
std::int64_t causal_attention_backward_scratch(const AttentionSizes& sizes);

template <typename T>
void causal_attention(const AttentionSizes& sizes, const AttentionHead<T>& head,
                      OpMathType<T>* scratch);

template <typename T>
BackwardBlocks causal_attention_backward_blocks();

/// The whole takes five matrix products. Parts of dq (three) and of dk and dv (four) compute their
/// scores each for themselves. The gradients of a key and a value are summed over the queries in a
/// fixed order, for any number of threads.
template <typename T>
void causal_attention_backward(const AttentionSizes& sizes, const AttentionGradient<T>& head,
                               OpMathType<T>* scratch);

}  // namespace evenkeel::kernels::cpu
