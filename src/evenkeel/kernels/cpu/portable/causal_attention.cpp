// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/causal_attention_amx.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_avx512.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_decode.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_softmax.h"

namespace evenkeel::kernels::cpu {

namespace {

// Queries of one block, which share each load of a key, and keys of one block of scores.
constexpr std::int64_t kQueries = 24, kKeys = 512;

/// Offsets of the buffers in scratch, in values; `end` is the size of scratch.
struct ScratchLayout {
  explicit ScratchLayout(const AttentionSizes& sizes)
      : keys(0),
        values(keys + padded(sizes.keys) * sizes.width),
        queries(values + sizes.keys * padded(sizes.width)),
        scores(queries + kQueries * sizes.width),
        sums(scores + kQueries * (kKeys + kPad)),
        end(sums + kQueries * padded(sizes.width)) {}
  std::int64_t keys, values, queries, scores, sums, end;
};

/// The forward pass of one key head, for vectors of kBytes. All of it is inlined into the function
/// that is compiled for the processor (IsaVersions).
template <int kBytes, typename T>
class ForwardPass {
 public:
  using F = OpMathType<T>;

  [[gnu::always_inline]] ForwardPass(const AttentionSizes& sizes, const AttentionHead<T>& head,
                                     F* scratch)
      : ForwardPass(sizes, head, scratch, ScratchLayout(sizes)) {}

  [[gnu::always_inline]] void run() {
    pack_panels<Shape::kPanel>(head_.k, sizes_.keys, width_, keys_);
    copy_rows(head_.v, 0, sizes_.keys, width_, F(1), values_, stride_);
    for (std::int64_t h = 0; h < head_.heads; ++h) {
      for (std::int64_t q0 = 0; q0 < sizes_.queries; q0 += kQueries) {
        attend({h, q0, std::min(kQueries, sizes_.queries - q0)});
      }
    }
  }

 private:
  using Shape = TileShape<F, kBytes>;
  using V = typename Shape::V;
  static constexpr std::int64_t kStride = kKeys + kPad;
  static_assert(kQueries % Shape::kRows == 0 && kKeys % Shape::kPanel == 0 &&
                kPad % Shape::kPanel == 0);

  [[gnu::always_inline]] ForwardPass(const AttentionSizes& sizes, const AttentionHead<T>& head,
                                     F* scratch, const ScratchLayout& layout)
      : sizes_(sizes),
        head_(head),
        width_(sizes.width),
        stride_(padded(width_)),
        vectors_((width_ + Shape::kVector - 1) / Shape::kVector),
        past_length_(sizes.keys - sizes.queries),
        keys_(scratch + layout.keys),
        values_(scratch + layout.values),
        queries_(scratch + layout.queries),
        scores_(scratch + layout.scores),
        sums_(scratch + layout.sums) {}

  /// y and lse of a block of queries.
  [[gnu::always_inline]] void attend(const QueryBlock& block) {
    OnlineSoftmaxRow<F> running[kQueries];
    const HeadRows<const T> q = {head_.q.rows + block.head * head_.q_head, head_.q.stride};
    copy_rows(q, block.first, block.rows, width_, static_cast<F>(sizes_.scale), queries_, width_);
    std::fill(queries_ + block.rows * width_, queries_ + kQueries * width_, F(0));
    std::fill(sums_, sums_ + kQueries * stride_, F(0));
    const auto visible = block.visible_to(past_length_, block.rows);
    const auto begin = first_key_block(head_.document_starts, block.first, kKeys);
    for (std::int64_t k0 = begin; k0 < visible; k0 += kKeys) {
      const KeyBlock keys = {k0, std::min(kKeys, visible - k0)};
      multiply_scores(block, keys);
      update_softmax(block, keys, running);
      add_values(block, keys);
    }
    for (std::int64_t r = 0; r < block.rows; ++r) {
      finish_row(sizes_, head_, block.head, block.first + r, sums_ + r * stride_, running[r]);
    }
  }

  /// scores = scale q k^T.
  [[gnu::always_inline]] void multiply_scores(const QueryBlock& block, const KeyBlock& keys) {
    for (std::int64_t j = 0; j < keys.count; j += Shape::kPanel) {
      for (std::int64_t r = 0; r < block.rows; r += Shape::kRows) {
        if (keys.first + j >= block.visible_to(past_length_, r + Shape::kRows)) continue;
        matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
            queries_ + r * width_, width_, keys_ + (keys.first + j) * width_, Shape::kPanel,
            scores_ + r * kStride + j, kStride, width_);
      }
    }
  }

  /// Scores become weights, 0 for keys that a query does not see; the sums so far are rescaled.
  [[gnu::always_inline]] void update_softmax(const QueryBlock& block, const KeyBlock& keys,
                                             OnlineSoftmaxRow<F>* running) {
    for (std::int64_t r = 0; r < block.rows; r += Shape::kRows) {
      if (update_rows<Shape::kRows>(block, keys, r, running)) continue;
      for (auto i = r; i < std::min<std::int64_t>(r + Shape::kRows, block.rows); ++i) {
        F* const row = scores_ + i * kStride;
        if (!update_rows<1>(block, keys, i, running)) std::fill(row, row + keys.count, F(0));
      }
    }
  }

  /// As above, for kRows queries from row `first` on: all of a tile of add_values(), or one.
  /// \return false if their keys do not begin together
  template <int kRows>
  [[gnu::always_inline]] bool update_rows(const QueryBlock& block, const KeyBlock& keys,
                                          std::int64_t first, OnlineSoftmaxRow<F>* running) {
    Range ranges[kRows];
    if (!begin_together<kRows>(head_.document_starts, past_length_, block, keys, first, ranges)) {
      return false;
    }
    F rescale[kRows];
    cpu::update_softmax<kBytes>(ScoreRows<kRows, F>(scores_ + first * kStride, kStride, ranges),
                                static_cast<F>(sizes_.softcap), running + first, rescale);
    for (int i = 0; i < kRows; ++i) {
      F* const row = scores_ + (first + i) * kStride;
      scale_row(sums_ + (first + i) * stride_, width_, rescale[i]);
      if (ranges[i].begin > 0) std::fill(row, row + ranges[i].begin, F(0));
      // The weights of masked keys are 0 already, as far as a tile of these rows reads them.
      if (kRows == 1) std::fill(row + ranges[i].end, row + keys.count, F(0));
    }
    return true;
  }

  /// sums += weights v.
  [[gnu::always_inline]] void add_values(const QueryBlock& block, const KeyBlock& keys) {
    for (std::int64_t r = 0; r < block.rows; r += Shape::kRows) {
      const auto depth =
          std::min(keys.count, block.visible_to(past_length_, r + Shape::kRows) - keys.first);
      if (depth <= 0) continue;
      matmul_tiles<V, Shape::kRows, LeftLayout::row_major, true>(
          scores_ + r * kStride, kStride, values_ + keys.first * stride_, stride_,
          sums_ + r * stride_, stride_, depth, vectors_);
    }
  }

  const AttentionSizes& sizes_;
  const AttentionHead<T>& head_;
  const std::int64_t width_, stride_, vectors_, past_length_;
  F* const keys_;     // [panels, width, kPanel]
  F* const values_;   // [keys, stride]
  F* const queries_;  // [kQueries, width]
  F* const scores_;   // [kQueries, kStride]: scores, then weights
  F* const sums_;     // [kQueries, stride]: sum_j weight_ij v_j
};

struct Forward {
  template <int kBytes, typename T>
  [[gnu::always_inline]] static void run(const AttentionSizes& sizes, const AttentionHead<T>& head,
                                         OpMathType<T>* scratch) {
    if (sizes.queries == 1) {
      for (std::int64_t h = 0; h < head.heads; ++h) decode_head<kBytes>(sizes, head, h, scratch);
      return;
    }
    ForwardPass<kBytes, T>(sizes, head, scratch).run();
  }
};

}  // namespace

template <typename T>
std::int64_t causal_attention_scratch(const AttentionSizes& sizes) {
  if (sizes.queries == 1) return decode_scratch(sizes);
  if constexpr (kHasBf16Kernels<T>) {
    const bool is_unit = bf16_attention_unit() != AttentionUnit::portable;
    if (is_unit) return causal_attention_bf16_scratch(sizes);
  }
  return ScratchLayout(sizes).end;
}

template <typename T>
void causal_attention(const AttentionSizes& sizes, const AttentionHead<T>& head,
                      OpMathType<T>* scratch) {
  if constexpr (kHasBf16Kernels<T>) {
    const auto unit = sizes.queries == 1 ? AttentionUnit::portable : bf16_attention_unit();
    if (unit == AttentionUnit::amx) return causal_attention_amx(sizes, head, scratch);
    if (unit == AttentionUnit::avx512_bf16) return causal_attention_avx512(sizes, head, scratch);
  }
  IsaVersions<Forward, AttentionSizes, AttentionHead<T>, OpMathType<T>*>::run(sizes, head, scratch);
}

template std::int64_t causal_attention_scratch<double>(const AttentionSizes&);
template std::int64_t causal_attention_scratch<float>(const AttentionSizes&);
template std::int64_t causal_attention_scratch<Bf16>(const AttentionSizes&);
template void causal_attention(const AttentionSizes&, const AttentionHead<double>&, double*);
template void causal_attention(const AttentionSizes&, const AttentionHead<float>&, float*);
template void causal_attention(const AttentionSizes&, const AttentionHead<Bf16>&, float*);

}  // namespace evenkeel::kernels::cpu
