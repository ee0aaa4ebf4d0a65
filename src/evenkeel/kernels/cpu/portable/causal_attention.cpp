// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

#include <algorithm>

#include "evenkeel/base/cpu_features.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_decode.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_softmax.h"

namespace evenkeel::kernels::cpu {

namespace {

// Of a pass: queries that share what is read of the keys, and keys whose scores are held.
constexpr std::int64_t kQueries = 24, kKeys = 512;

/// Where the parts of scratch begin; `end` is its size.
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

/// One query head; keys and values are packed.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void forward(const AttentionSizes& sizes,
                                           const AttentionHead<T>& head, std::int64_t h,
                                           OpMathType<T>* scratch) {
  using F = OpMathType<T>;
  using Shape = TileShape<F, kBytes>;
  using V = typename Shape::V;
  constexpr std::int64_t kStride = kKeys + kPad;
  static_assert(kQueries % Shape::kRows == 0 && kKeys % Shape::kPanel == 0 &&
                kPad % Shape::kPanel == 0);
  const auto width = sizes.width;
  const auto stride = padded(width);
  const auto vectors = (width + Shape::kVector - 1) / Shape::kVector;
  const auto past_length = sizes.keys - sizes.queries;
  const ScratchLayout layout(sizes);
  F* const keys = scratch + layout.keys;
  F* const values = scratch + layout.values;
  F* const queries = scratch + layout.queries;
  F* const scores = scratch + layout.scores;
  F* const sums = scratch + layout.sums;
  OnlineSoftmaxRow<F> running[kQueries];

  const HeadRows<const T> q = {head.q.rows + h * head.q_head, head.q.stride};
  for (std::int64_t q0 = 0; q0 < sizes.queries; q0 += kQueries) {
    const auto rows = std::min(kQueries, sizes.queries - q0);
    copy_rows(q, q0, rows, width, static_cast<F>(sizes.scale), queries, width);
    std::fill(queries + rows * width, queries + kQueries * width, F(0));
    std::fill(sums, sums + kQueries * stride, F(0));
    std::fill(running, running + kQueries, OnlineSoftmaxRow<F>());
    /// Keys that the rows of a tile see, all of them together.
    const auto visible_to = [&](std::int64_t r) {
      return past_length + q0 + std::min<std::int64_t>(r + Shape::kRows, rows);
    };
    const auto visible = past_length + q0 + rows;
    const auto begin =
        head.document_starts == nullptr ? 0 : head.document_starts[q0] / kKeys * kKeys;
    for (std::int64_t k0 = begin; k0 < visible; k0 += kKeys) {
      const auto count = std::min(kKeys, visible - k0);
      for (std::int64_t j = 0; j < count; j += Shape::kPanel) {
        for (std::int64_t r = 0; r < rows; r += Shape::kRows) {
          if (k0 + j >= visible_to(r)) continue;
          matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
              queries + r * width, width, keys + (k0 + j) * width, Shape::kPanel,
              scores + r * kStride + j, kStride, width);
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        F* const row = scores + r * kStride;
        const auto range = visible_keys(head.document_starts, q0 + r, past_length, k0, count);
        if (!range.is_empty()) {
          const F rescale = running[r].template update<kBytes>(
              row + range.begin, range.end - range.begin, static_cast<F>(sizes.softcap));
          scale_row(sums + r * stride, width, rescale);
        }
        clear_outside(row, range, count);
      }
      for (std::int64_t r = 0; r < rows; r += Shape::kRows) {
        const auto depth = std::min(count, visible_to(r) - k0);
        if (depth <= 0) continue;
        matmul_tiles<V, Shape::kRows, LeftLayout::row_major, true>(
            scores + r * kStride, kStride, values + k0 * stride, stride, sums + r * stride, stride,
            depth, vectors);
      }
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      finish_row(sizes, head, h, q0 + r, sums + r * stride, running[r]);
    }
  }
}

struct Forward {
  template <int kBytes, typename T>
  [[gnu::always_inline]] static void run(const AttentionSizes& sizes, const AttentionHead<T>& head,
                                         OpMathType<T>* scratch) {
    using F = OpMathType<T>;
    if (sizes.queries == 1) {
      for (std::int64_t h = 0; h < head.heads; ++h) decode_head<kBytes>(sizes, head, h, scratch);
      return;
    }
    const ScratchLayout layout(sizes);
    const auto width = sizes.width;
    pack_panels<TileShape<F, kBytes>::kPanel>(head.k, sizes.keys, width, scratch + layout.keys);
    copy_rows(head.v, 0, sizes.keys, width, F(1), scratch + layout.values, padded(width));
    for (std::int64_t h = 0; h < head.heads; ++h) forward<kBytes>(sizes, head, h, scratch);
  }
};

}  // namespace

int vector_bytes() {
#if defined(EK_VECTOR_BYTES)
  return EK_VECTOR_BYTES;
#else
  static const CpuFeatures cpu = CpuFeatures::detect();
  if (cpu.avx512) return 64;
  return cpu.avx2 ? 32 : 16;
#endif
}

template <typename T>
std::int64_t causal_attention_scratch(const AttentionSizes& sizes) {
  if (uses_amx<T>()) return causal_attention_amx_scratch(sizes);
  return sizes.queries == 1 ? decode_scratch(sizes) : ScratchLayout(sizes).end;
}

template <typename T>
void causal_attention(const AttentionSizes& sizes, const AttentionHead<T>& head,
                      OpMathType<T>* scratch) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (uses_amx<T>()) return causal_attention_amx(sizes, head, scratch);
  }
  IsaVersions<Forward, AttentionHead<T>, OpMathType<T>>::run(sizes, head, scratch);
}

template std::int64_t causal_attention_scratch<double>(const AttentionSizes&);
template std::int64_t causal_attention_scratch<float>(const AttentionSizes&);
template std::int64_t causal_attention_scratch<Bf16>(const AttentionSizes&);
template void causal_attention(const AttentionSizes&, const AttentionHead<double>&, double*);
template void causal_attention(const AttentionSizes&, const AttentionHead<float>&, float*);
template void causal_attention(const AttentionSizes&, const AttentionHead<Bf16>&, float*);

}  // namespace evenkeel::kernels::cpu
