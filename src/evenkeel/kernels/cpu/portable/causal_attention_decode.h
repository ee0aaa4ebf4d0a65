// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_softmax.h"

/// Attention of a single query, as in decoding; for the files of causal_attention() only. Each key
/// and value is read once, so packing would not pay; the time is that of the memory traffic.
namespace evenkeel::kernels::cpu {

inline constexpr std::int64_t kKeysAtOnce = 512;  // block size: scores that are stored at once

inline std::int64_t decode_scratch(const AttentionSizes& sizes) {
  return 2 * padded(sizes.width) + kKeysAtOnce + kPad;
}

/// scores[j] = query . k_(first + j), four keys at a time.
template <typename T, typename F>
[[gnu::always_inline]] inline void scores_of(const F* __restrict query,
                                             const HeadRows<const T>& keys, std::int64_t first,
                                             std::int64_t count, std::int64_t width,
                                             F* __restrict scores) {
  constexpr std::int64_t kTogether = 4;
  const T* key = keys.rows + first * keys.stride;
  std::int64_t j = 0;
  for (; j + kTogether <= count; j += kTogether, key += kTogether * keys.stride) {
    const T* const b = key + keys.stride;
    const T* const c = b + keys.stride;
    const T* const d = c + keys.stride;
    F of_a = 0, of_b = 0, of_c = 0, of_d = 0;
#pragma omp simd reduction(+ : of_a, of_b, of_c, of_d)
    for (std::int64_t i = 0; i < width; ++i) {
      of_a += query[i] * static_cast<F>(load(key + i));
      of_b += query[i] * static_cast<F>(load(b + i));
      of_c += query[i] * static_cast<F>(load(c + i));
      of_d += query[i] * static_cast<F>(load(d + i));
    }
    scores[j] = of_a, scores[j + 1] = of_b, scores[j + 2] = of_c, scores[j + 3] = of_d;
  }
  for (; j < count; ++j, key += keys.stride) {
    F sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < width; ++i) sum += query[i] * static_cast<F>(load(key + i));
    scores[j] = sum;
  }
}

/// sum += weights[j] v_(first + j), four values at a time.
template <typename T, typename F>
[[gnu::always_inline]] inline void add_values(const F* __restrict weights,
                                              const HeadRows<const T>& values, std::int64_t first,
                                              std::int64_t count, std::int64_t width,
                                              F* __restrict sum) {
  constexpr std::int64_t kTogether = 4;
  const T* value = values.rows + first * values.stride;
  std::int64_t j = 0;
  for (; j + kTogether <= count; j += kTogether, value += kTogether * values.stride) {
    const T* const b = value + values.stride;
    const T* const c = b + values.stride;
    const T* const d = c + values.stride;
    const F p = weights[j], q = weights[j + 1], r = weights[j + 2], s = weights[j + 3];
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      sum[i] += p * static_cast<F>(load(value + i)) + q * static_cast<F>(load(b + i)) +
                r * static_cast<F>(load(c + i)) + s * static_cast<F>(load(d + i));
    }
  }
  for (; j < count; ++j, value += values.stride) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) sum[i] += weights[j] * static_cast<F>(load(value + i));
  }
}

/// One query head with its only query, the last of the positions.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void decode_head(const AttentionSizes& sizes,
                                               const AttentionHead<T>& head, std::int64_t h,
                                               OpMathType<T>* scratch) {
  using F = OpMathType<T>;
  const auto width = sizes.width;
  F* const query = scratch;
  F* const sum = query + padded(width);
  F* const scores = sum + padded(width);
  copy_rows<T>({head.q.rows + h * head.q_head, head.q.stride}, 0, 1, width,
               static_cast<F>(sizes.scale), query, padded(width));
  std::fill(sum, sum + padded(width), F(0));
  OnlineSoftmaxRow<F> running;
  for (std::int64_t k0 = head.document_starts == nullptr ? 0 : *head.document_starts;
       k0 < sizes.keys; k0 += kKeysAtOnce) {
    const auto count = std::min(kKeysAtOnce, sizes.keys - k0);
    scores_of(query, head.k, k0, count, width, scores);
    const Range all{0, count};
    F rescale = 1;
    update_softmax<kBytes>(ScoreRows<1, F>(scores, /*row_stride=*/0, &all),
                           static_cast<F>(sizes.softcap), &running, &rescale);
    scale_row(sum, width, rescale);
    add_values(scores, head.v, k0, count, width, sum);
  }
  finish_row(sizes, head, h, 0, sum, running);
}

}  // namespace evenkeel::kernels::cpu
