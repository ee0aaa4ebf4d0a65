// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cpu/portable/causal_attention.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_softmax.h"

namespace evenkeel::kernels::cpu {

namespace {

// Of a pass: queries that share what is read of the keys, and keys whose scores are held.
constexpr std::int64_t kQueries = 48, kKeys = 256;

/// Where the parts of scratch begin; `end` is its size.
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

template <typename F>
[[gnu::always_inline]] inline F product_of(const F* __restrict a, const F* __restrict b,
                                           std::int64_t count) {
  F sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t d = 0; d < count; ++d) sum += a[d] * b[d];
  return sum;
}

template <int kBytes, typename T>
[[gnu::always_inline]] inline void backward(const AttentionSizes& sizes,
                                            const AttentionGradient<T>& head,
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
  const auto scale = static_cast<F>(sizes.scale);
  const ScratchLayout layout(sizes);
  F* const keys = scratch + layout.keys;
  F* const values = scratch + layout.values;
  F* const key_rows = scratch + layout.key_rows;
  F* const dk = scratch + layout.dk;
  F* const dv = scratch + layout.dv;
  F* const queries = scratch + layout.queries;
  F* const upstream = scratch + layout.upstream;
  F* const weights = scratch + layout.weights;
  F* const gradients = scratch + layout.gradients;
  F* const dq = scratch + layout.dq;

  pack_panels<Shape::kPanel>(head.k, sizes.keys, width, keys);
  pack_panels<Shape::kPanel>(head.v, sizes.keys, width, values);
  copy_rows(head.k, 0, sizes.keys, width, F(1), key_rows, stride);
  std::fill(dk, dk + padded(sizes.keys + kPad) * stride, F(0));
  std::fill(dv, dv + padded(sizes.keys + kPad) * stride, F(0));
  for (std::int64_t h = 0; h < head.heads; ++h) {
    const HeadRows<const T> q = {head.q.rows + h * head.q_head, head.q.stride};
    const HeadRows<const T> dy = {head.dy.rows + h * head.dy_head, head.dy.stride};
    const T* const y = head.y.rows + h * head.y_head;
    for (std::int64_t q0 = 0; q0 < sizes.queries; q0 += kQueries) {
      const auto rows = std::min(kQueries, sizes.queries - q0);
      copy_rows(q, q0, rows, width, scale, queries, stride);
      copy_rows(dy, q0, rows, width, F(1), upstream, stride);
      std::fill(queries + rows * stride, queries + kQueries * stride, F(0));
      std::fill(upstream + rows * stride, upstream + kQueries * stride, F(0));
      std::fill(dq, dq + kQueries * stride, F(0));
      const auto visible_to = [&](std::int64_t r) {
        return past_length + q0 + std::min<std::int64_t>(r + Shape::kRows, rows);
      };
      const auto visible = past_length + q0 + rows;
      F delta[kQueries];
      for (std::int64_t r = 0; r < rows; ++r) {
        F* const wide = dq;  // free until the products; cleared again below
        const T* const from = y + (q0 + r) * head.y.stride;
#pragma omp simd
        for (std::int64_t d = 0; d < width; ++d) wide[d] = static_cast<F>(load(from + d));
        delta[r] = product_of(wide, upstream + r * stride, width);
      }
      std::fill(dq, dq + stride, F(0));
      const auto begin =
          head.document_starts == nullptr ? 0 : head.document_starts[q0] / kKeys * kKeys;
      for (std::int64_t k0 = begin; k0 < visible; k0 += kKeys) {
        const auto count = std::min(kKeys, visible - k0);
        for (std::int64_t j = 0; j < count; j += Shape::kPanel) {
          for (std::int64_t r = 0; r < rows; r += Shape::kRows) {
            if (k0 + j >= visible_to(r)) continue;
            matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
                queries + r * stride, stride, keys + (k0 + j) * width, Shape::kPanel,
                weights + r * kStride + j, kStride, width);
            matmul_tile<V, Shape::kRows, 2, LeftLayout::row_major, false>(
                upstream + r * stride, stride, values + (k0 + j) * width, Shape::kPanel,
                gradients + r * kStride + j, kStride, width);
          }
        }
        for (std::int64_t r = 0; r < rows; ++r) {
          F* const weight = weights + r * kStride;
          F* const gradient = gradients + r * kStride;
          const auto range = visible_keys(head.document_starts, q0 + r, past_length, k0, count);
          if (!range.is_empty()) {
            const auto many = range.end - range.begin;
            if (sizes.softcap > 0) {
              cap_row(weight + range.begin, many, static_cast<F>(sizes.softcap));
            }
            mask_tail(weight + range.begin, many);
            softmax_row_backward<kBytes>(weight + range.begin, gradient + range.begin, many,
                                         head.lse[h * sizes.queries + q0 + r], delta[r],
                                         static_cast<F>(sizes.softcap));
          }
          clear_outside(weight, range, count + Shape::kRows);
          clear_outside(gradient, range, count + Shape::kRows);
        }
        for (std::int64_t r = 0; r < rows; r += Shape::kRows) {
          const auto depth = std::min(count, visible_to(r) - k0);
          if (depth <= 0) continue;
          matmul_tiles<V, Shape::kRows, LeftLayout::row_major, true>(
              gradients + r * kStride, kStride, key_rows + k0 * stride, stride, dq + r * stride,
              stride, depth, vectors);
        }
        for (std::int64_t j = 0; j < count; j += Shape::kRows) {
          // The first query that sees the first of these keys.
          const auto first = std::max<std::int64_t>(0, k0 + j - past_length - q0);
          matmul_tiles<V, Shape::kRows, LeftLayout::column_major, true>(
              gradients + first * kStride + j, kStride, queries + first * stride, stride,
              dk + (k0 + j) * stride, stride, rows - first, vectors);
          matmul_tiles<V, Shape::kRows, LeftLayout::column_major, true>(
              weights + first * kStride + j, kStride, upstream + first * stride, stride,
              dv + (k0 + j) * stride, stride, rows - first, vectors);
        }
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const to = head.dq.rows + h * head.dq_head + (q0 + r) * head.dq.stride;
        const F* const row = dq + r * stride;
#pragma omp simd
        for (std::int64_t d = 0; d < width; ++d) store(to + d, row[d] * scale);
      }
    }
  }
  for (std::int64_t j = 0; j < sizes.keys; ++j) {
    T* const dk_row = head.dk.rows + j * head.dk.stride;
    T* const dv_row = head.dv.rows + j * head.dv.stride;
#pragma omp simd
    for (std::int64_t d = 0; d < width; ++d) {
      store(dk_row + d, dk[j * stride + d]);
      store(dv_row + d, dv[j * stride + d]);
    }
  }
}

struct Backward {
  template <int kBytes, typename T>
  [[gnu::always_inline]] static void run(const AttentionSizes& sizes,
                                         const AttentionGradient<T>& head, OpMathType<T>* scratch) {
    backward<kBytes>(sizes, head, scratch);
  }
};

}  // namespace

template <typename T>
std::int64_t causal_attention_backward_scratch(const AttentionSizes& sizes) {
  if (uses_amx<T>()) return causal_attention_amx_backward_scratch(sizes);
  return ScratchLayout(sizes).end;
}

template <typename T>
void causal_attention_backward(const AttentionSizes& sizes, const AttentionGradient<T>& head,
                               OpMathType<T>* scratch) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (uses_amx<T>()) return causal_attention_amx_backward(sizes, head, scratch);
  }
  IsaVersions<Backward, AttentionGradient<T>, OpMathType<T>>::run(sizes, head, scratch);
}

template std::int64_t causal_attention_backward_scratch<double>(const AttentionSizes&);
template std::int64_t causal_attention_backward_scratch<float>(const AttentionSizes&);
template std::int64_t causal_attention_backward_scratch<Bf16>(const AttentionSizes&);
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<double>&,
                                        double*);
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<float>&,
                                        float*);
template void causal_attention_backward(const AttentionSizes&, const AttentionGradient<Bf16>&,
                                        float*);

}  // namespace evenkeel::kernels::cpu
