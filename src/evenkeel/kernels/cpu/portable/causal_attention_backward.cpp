// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cpu/amx/causal_attention_amx.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_avx512.h"
#include "evenkeel/kernels/cpu/common/causal_attention_part.h"
#include "evenkeel/kernels/cpu/portable/causal_attention.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_softmax.h"

namespace evenkeel::kernels::cpu {

namespace {

// Queries of one block, which share each load of a key, and keys of one block of scores.
constexpr std::int64_t kQueries = 48, kKeys = 256;

/// Offsets of the buffers in scratch, in values; `end` is the size of scratch.
struct ScratchLayout {
  explicit ScratchLayout(const AttentionSizes& sizes)
      : keys(0),
        values(keys + padded(sizes.keys) * sizes.width),
        key_rows(values + padded(sizes.keys) * sizes.width),
        dk(key_rows + sizes.keys * padded(sizes.width)),
        dv(dk + padded(sizes.keys + kPad) * padded(sizes.width)),
        queries(dv + padded(sizes.keys + kPad) * padded(sizes.width)),
        upstream(queries + kQueries * padded(sizes.width)),
        weights(upstream + kQueries * padded(sizes.width)),
        gradients(weights + kQueries * (kKeys + kPad)),
        dq(gradients + kQueries * (kKeys + kPad)),
        end(dq + kQueries * padded(sizes.width)) {}
  std::int64_t keys, values, key_rows, dk, dv, queries, upstream, weights, gradients, dq, end;
};

template <typename T, typename F>
[[gnu::always_inline]] inline F product_of(const T* __restrict a, const F* __restrict b,
                                           std::int64_t count) {
  F sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < count; ++d) sum += static_cast<F>(load(a + d)) * b[d];
  return sum;
}

/// The backward pass of one key head, for vectors of kBytes. All of it is inlined into the function
/// that is compiled for the processor (IsaVersions).
///
///   delta_i = dy_i . y_i      ds_ij = p_ij (dy_i . v_j - delta_i)
///   dq_i = scale sum_j ds_ij k_j      dk_j = scale sum_i ds_ij q_i      dv_j = sum_i p_ij dy_i
///
/// dk and dv are sums over all queries of all query heads, in one order.
template <int kBytes, typename T>
class BackwardPass {
 public:
  using F = OpMathType<T>;

  [[gnu::always_inline]] BackwardPass(const AttentionSizes& sizes, const AttentionGradient<T>& head,
                                      F* scratch)
      : BackwardPass(sizes, head, scratch, ScratchLayout(sizes)) {}

  [[gnu::always_inline]] void run() {
    const auto first = key_range_.begin, count = key_range_.end - first;
    const HeadRows<const T> k = {head_.k.rows + first * head_.k.stride, head_.k.stride};
    const HeadRows<const T> v = {head_.v.rows + first * head_.v.stride, head_.v.stride};
    pack_panels<Shape::kPanel>(k, count, width_, keys_ + first * width_);
    pack_panels<Shape::kPanel>(v, count, width_, values_ + first * width_);
    copy_rows(k, 0, count, width_, F(1), key_rows_ + first * stride_, stride_);
    if (head_.part.has_dk_dv()) {
      std::fill(dk_ + first * stride_, dk_ + padded(key_range_.end + kPad) * stride_, F(0));
      std::fill(dv_ + first * stride_, dv_ + padded(key_range_.end + kPad) * stride_, F(0));
    }
    for (std::int64_t h = 0; h < head_.heads; ++h) {
      for (auto q0 = query_range_.begin; q0 < query_range_.end; q0 += kQueries) {
        add_queries({h, q0, std::min(kQueries, sizes_.queries - q0)});
      }
    }
    if (head_.part.has_dk_dv()) store_dk_dv();
  }

 private:
  using Shape = TileShape<F, kBytes>;
  using V = typename Shape::V;
  static constexpr std::int64_t kStride = kKeys + kPad;
  static_assert(kQueries % Shape::kRows == 0 && kKeys % Shape::kPanel == 0 &&
                kPad % Shape::kPanel == 0);

  [[gnu::always_inline]] BackwardPass(const AttentionSizes& sizes, const AttentionGradient<T>& head,
                                      F* scratch, const ScratchLayout& layout)
      : sizes_(sizes),
        head_(head),
        width_(sizes.width),
        stride_(padded(width_)),
        vectors_((width_ + Shape::kVector - 1) / Shape::kVector),
        past_length_(sizes.keys - sizes.queries),
        query_range_(queries_of(sizes, head.part, kQueries)),
        key_range_(keys_of(sizes, head.part, kKeys)),
        scale_(static_cast<F>(sizes.scale)),
        keys_(scratch + layout.keys),
        values_(scratch + layout.values),
        key_rows_(scratch + layout.key_rows),
        dk_(scratch + layout.dk),
        dv_(scratch + layout.dv),
        queries_(scratch + layout.queries),
        upstream_(scratch + layout.upstream),
        weights_(scratch + layout.weights),
        gradients_(scratch + layout.gradients),
        dq_(scratch + layout.dq) {}

  /// Adds a block of queries to dk and dv, and stores its dq.
  [[gnu::always_inline]] void add_queries(const QueryBlock& block) {
    F delta[kQueries];
    load_queries(block, delta);
    const auto visible = block.visible_to(past_length_, block.rows);
    const auto begin =
        std::max(first_key_block(head_.document_starts, block.first, kKeys), key_range_.begin);
    for (auto k0 = begin; k0 < std::min(visible, key_range_.end); k0 += kKeys) {
      const KeyBlock keys = {k0, std::min(kKeys, visible - k0)};
      multiply_scores(block, keys);
      differentiate_softmax(block, keys, delta);
      if (head_.part.has_dq()) add_dq(block, keys);
      if (head_.part.has_dk_dv()) add_dk_dv(block, keys);
    }
    if (head_.part.has_dq()) store_dq(block);
  }

  /// Queries (scaled) and dy of a block, padded with zeros, and delta; dq becomes 0.
  [[gnu::always_inline]] void load_queries(const QueryBlock& block, F* delta) {
    const HeadRows<const T> q = {head_.q.rows + block.head * head_.q_head, head_.q.stride};
    const HeadRows<const T> dy = {head_.dy.rows + block.head * head_.dy_head, head_.dy.stride};
    const T* const y = head_.y.rows + block.head * head_.y_head;
    copy_rows(q, block.first, block.rows, width_, scale_, queries_, stride_);
    copy_rows(dy, block.first, block.rows, width_, F(1), upstream_, stride_);
    std::fill(queries_ + block.rows * stride_, queries_ + kQueries * stride_, F(0));
    std::fill(upstream_ + block.rows * stride_, upstream_ + kQueries * stride_, F(0));
    std::fill(dq_, dq_ + kQueries * stride_, F(0));
    for (std::int64_t r = 0; r < block.rows; ++r) {
      delta[r] =
          product_of(y + (block.first + r) * head_.y.stride, upstream_ + r * stride_, width_);
    }
  }

  /// weights = scale q k^T (scores), gradients = dy v^T.
  [[gnu::always_inline]] void multiply_scores(const QueryBlock& block, const KeyBlock& keys) {
    for (std::int64_t j = 0; j < keys.count; j += Shape::kPanel) {
      for (std::int64_t r = 0; r < block.rows; r += Shape::kRows) {
        if (keys.first + j >= block.visible_to(past_length_, r + Shape::kRows)) continue;
        matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
            queries_ + r * stride_, stride_, keys_ + (keys.first + j) * width_, Shape::kPanel,
            weights_ + r * kStride + j, kStride, width_);
        matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
            upstream_ + r * stride_, stride_, values_ + (keys.first + j) * width_, Shape::kPanel,
            gradients_ + r * kStride + j, kStride, width_);
      }
    }
  }

  /// weights = p, gradients = ds; 0 for keys that a query does not see.
  [[gnu::always_inline]] void differentiate_softmax(const QueryBlock& block, const KeyBlock& keys,
                                                    const F* delta) {
    for (std::int64_t r = 0; r < block.rows; ++r) {
      F* const weight = weights_ + r * kStride;
      F* const gradient = gradients_ + r * kStride;
      const auto range = visible_keys(head_.document_starts, block.first + r, past_length_,
                                      keys.first, keys.count);
      if (!range.is_empty()) {
        const auto many = range.end - range.begin;
        if (sizes_.softcap > 0) {
          cap_row(weight + range.begin, many, static_cast<F>(sizes_.softcap));
        }
        mask_tail(weight + range.begin, many);
        softmax_row_backward<kBytes>(weight + range.begin, gradient + range.begin, many,
                                     head_.lse[block.head * sizes_.queries + block.first + r],
                                     delta[r], static_cast<F>(sizes_.softcap));
      }
      clear_outside(weight, range, keys.count + Shape::kRows);
      clear_outside(gradient, range, keys.count + Shape::kRows);
    }
  }

  /// dq += ds k.
  [[gnu::always_inline]] void add_dq(const QueryBlock& block, const KeyBlock& keys) {
    for (std::int64_t r = 0; r < block.rows; r += Shape::kRows) {
      const auto depth =
          std::min(keys.count, block.visible_to(past_length_, r + Shape::kRows) - keys.first);
      if (depth <= 0) continue;
      matmul_tiles<V, Shape::kRows, LeftLayout::row_major, true>(
          gradients_ + r * kStride, kStride, key_rows_ + keys.first * stride_, stride_,
          dq_ + r * stride_, stride_, depth, vectors_);
    }
  }

  /// dk += ds^T q, dv += p^T dy.
  [[gnu::always_inline]] void add_dk_dv(const QueryBlock& block, const KeyBlock& keys) {
    for (std::int64_t j = 0; j < keys.count; j += Shape::kRows) {
      // The first query that sees the first of these keys.
      const auto first = std::max<std::int64_t>(0, keys.first + j - past_length_ - block.first);
      matmul_tiles<V, Shape::kRows, LeftLayout::column_major, true>(
          gradients_ + first * kStride + j, kStride, queries_ + first * stride_, stride_,
          dk_ + (keys.first + j) * stride_, stride_, block.rows - first, vectors_);
      matmul_tiles<V, Shape::kRows, LeftLayout::column_major, true>(
          weights_ + first * kStride + j, kStride, upstream_ + first * stride_, stride_,
          dv_ + (keys.first + j) * stride_, stride_, block.rows - first, vectors_);
    }
  }

  [[gnu::always_inline]] void store_dq(const QueryBlock& block) const {
    for (std::int64_t r = 0; r < block.rows; ++r) {
      T* const to =
          head_.dq.rows + block.head * head_.dq_head + (block.first + r) * head_.dq.stride;
      const F* const row = dq_ + r * stride_;
#pragma omp simd
      for (std::int64_t d = 0; d < width_; ++d) store(to + d, row[d] * scale_);
    }
  }

  [[gnu::always_inline]] void store_dk_dv() const {
    for (auto j = key_range_.begin; j < key_range_.end; ++j) {
      T* const dk_row = head_.dk.rows + j * head_.dk.stride;
      T* const dv_row = head_.dv.rows + j * head_.dv.stride;
#pragma omp simd
      for (std::int64_t d = 0; d < width_; ++d) {
        store(dk_row + d, dk_[j * stride_ + d]);
        store(dv_row + d, dv_[j * stride_ + d]);
      }
    }
  }

  const AttentionSizes& sizes_;
  const AttentionGradient<T>& head_;
  const std::int64_t width_, stride_, vectors_, past_length_;
  const Range query_range_, key_range_;
  const F scale_;
  F* const keys_;       // [panels, width, kPanel]
  F* const values_;     // [panels, width, kPanel]
  F* const key_rows_;   // [keys, stride]
  F* const dk_;         // [keys, stride]
  F* const dv_;         // [keys, stride]
  F* const queries_;    // [kQueries, stride]
  F* const upstream_;   // [kQueries, stride]: dy
  F* const weights_;    // [kQueries, kStride]: scores, then p
  F* const gradients_;  // [kQueries, kStride]: dy v^T, then ds
  F* const dq_;         // [kQueries, stride]
};

struct Backward {
  template <int kBytes, typename T>
  [[gnu::always_inline]] static void run(const AttentionSizes& sizes,
                                         const AttentionGradient<T>& head, OpMathType<T>* scratch) {
    BackwardPass<kBytes, T>(sizes, head, scratch).run();
  }
};

}  // namespace

template <typename T>
std::int64_t causal_attention_backward_scratch(const AttentionSizes& sizes) {
  if constexpr (kHasBf16Kernels<T>) {
    const bool is_unit = bf16_attention_unit() != AttentionUnit::portable;
    if (is_unit) return causal_attention_bf16_backward_scratch(sizes);
  }
  return ScratchLayout(sizes).end;
}

template <typename T>
BackwardBlocks causal_attention_backward_blocks() {
  if constexpr (kHasBf16Kernels<T>) {
    const bool is_unit = bf16_attention_unit() != AttentionUnit::portable;
    if (is_unit) return causal_attention_bf16_backward_blocks();
  }
  return {.queries = kQueries, .keys = kKeys};
}

template <typename T>
void causal_attention_backward(const AttentionSizes& sizes, const AttentionGradient<T>& head,
                               OpMathType<T>* scratch) {
  if constexpr (kHasBf16Kernels<T>) {
    const auto unit = bf16_attention_unit();
    if (unit == AttentionUnit::amx) return causal_attention_amx_backward(sizes, head, scratch);
    if (unit == AttentionUnit::avx512_bf16) {
      return causal_attention_avx512_backward(sizes, head, scratch);
    }
  }
  IsaVersions<Backward, AttentionSizes, AttentionGradient<T>, OpMathType<T>*>::run(sizes, head,
                                                                                   scratch);
}

template std::int64_t causal_attention_backward_scratch<double>(const AttentionSizes&);
template std::int64_t causal_attention_backward_scratch<float>(const AttentionSizes&);
template std::int64_t causal_attention_backward_scratch<Bf16>(const AttentionSizes&);
template BackwardBlocks causal_attention_backward_blocks<double>();
template BackwardBlocks causal_attention_backward_blocks<float>();
template BackwardBlocks causal_attention_backward_blocks<Bf16>();
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<double>&,
                                        double*);
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<float>&,
                                        float*);
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<Bf16>&,
                                        float*);

}  // namespace evenkeel::kernels::cpu
