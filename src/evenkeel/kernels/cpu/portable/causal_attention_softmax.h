// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "evenkeel/kernels/cpu/common/exp.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"
#include "evenkeel/kernels/cpu/portable/causal_attention_common.h"

/// The softmax of one row of scores in whole vectors; for the files of causal_attention() only. A
/// row has memory for kLanes values more than it counts, which are made to weigh nothing.
namespace evenkeel::kernels::cpu {

/// x becomes e^x, x <= 0.
template <typename F, int kBytes>
[[gnu::always_inline]] inline void exponentiate(Vec16<F, kBytes>& x) {
#pragma GCC unroll 8
  for (int k = 0; k < x.kCount; ++k) {
    if constexpr (sizeof(F) == sizeof(float)) {
      exp_nonpositive_vector(x.part[k]);
    } else {
      for (int i = 0; i < x.kPartSize; ++i) x.part[k][i] = exp_nonpositive(x.part[k][i]);
    }
  }
}

/// The padding after the last score of a row, up to the next multiple of kLanes.
template <typename F>
[[gnu::always_inline]] inline void mask_tail(F* row, std::int64_t count) {
  for (int k = 0; k < kLanes; ++k) row[count + k] = -std::numeric_limits<F>::infinity();
}

/// The largest of `least` and the scores; no NaN is.
template <int kBytes, typename F>
[[gnu::always_inline]] inline F largest_of_row(const F* __restrict row, std::int64_t count,
                                               F least) {
  Vec16<F, kBytes> most, next;
#pragma GCC unroll 8
  for (int k = 0; k < most.kCount; ++k) most.part[k] += least;
  for (std::int64_t j = 0; j < count; j += kLanes) {
    next.load(row + j);
#pragma GCC unroll 8
    for (int k = 0; k < most.kCount; ++k) {
      most.part[k] = next.part[k] > most.part[k] ? next.part[k] : most.part[k];
    }
  }
  F lane[kLanes];
  most.store(lane);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] = std::max(lane[k], lane[k + half]);
  }
  return lane[0];
}

/// row = exp(row - largest); the sum, in the order of sum_over().
template <int kBytes, typename F>
[[gnu::always_inline]] inline F exp_row(F* __restrict row, std::int64_t count, F largest) {
  Vec16<F, kBytes> sum, next;
  for (std::int64_t j = 0; j < count; j += kLanes) {
    next.load(row + j);
#pragma GCC unroll 8
    for (int k = 0; k < sum.kCount; ++k) next.part[k] -= largest;
    exponentiate(next);
#pragma GCC unroll 8
    for (int k = 0; k < sum.kCount; ++k) sum.part[k] += next.part[k];
    next.store(row + j);
  }
  return horizontal_sum(sum);
}

/// The running softmax of one query, as far as it went.
template <typename F>
struct OnlineSoftmaxRow {
  F largest = -std::numeric_limits<F>::infinity();
  F total = 0;

  /// Turns more scores into weights.
  /// \return the factor of the weighted sums so far
  template <int kBytes>
  [[gnu::always_inline]] inline F update(F* __restrict scores, std::int64_t count, F softcap) {
    if (softcap > 0) cap_row(scores, count, softcap);
    mask_tail(scores, count);
    const F now = largest_of_row<kBytes>(scores, count, largest);
    const F more = exp_row<kBytes>(scores, count, now);
    const F rescale = now > largest && total > 0 ? exp_nonpositive(largest - now) : 1;
    total = total * rescale + more;
    largest = now;
    return rescale;
  }
};

template <typename F>
[[gnu::always_inline]] inline void scale_row(F* __restrict row, std::int64_t count, F factor) {
  if (factor == 1) return;
#pragma omp simd
  for (std::int64_t j = 0; j < count; ++j) row[j] *= factor;
}

/// Stores the results of a query after the last key: y, lse, and the largest score.
template <typename T, typename F>
[[gnu::always_inline]] inline void finish_row(const AttentionSizes& sizes,
                                              const AttentionHead<T>& head, std::int64_t h,
                                              std::int64_t query, const F* __restrict sum,
                                              const OnlineSoftmaxRow<F>& row) {
  T* const y = head.y.rows + h * head.y_head + query * head.y.stride;
  const F inverse = 1 / row.total;
#pragma omp simd
  for (std::int64_t d = 0; d < sizes.width; ++d) store(y + d, sum[d] * inverse);
  head.lse[h * sizes.queries + query] = row.largest + std::log(row.total);
  if (head.largest != nullptr) head.largest[h] = std::max(head.largest[h], row.largest);
}

/// In: weights holds scores, slopes dL/dp. Out: p = exp(s - lse), and dL/ds = p (dL/dp - delta)
/// (1 - (s / softcap)^2), the last factor with a cap only.
template <int kBytes, typename F>
[[gnu::always_inline]] inline void softmax_row_backward(F* __restrict weights, F* __restrict slopes,
                                                        std::int64_t count, F lse, F delta,
                                                        F softcap) {
  Vec16<F, kBytes> score, slope, weight;
  const F inverse = softcap > 0 ? 1 / softcap : 0;
  for (std::int64_t j = 0; j < count; j += kLanes) {
    score.load(weights + j);
    slope.load(slopes + j);
#pragma GCC unroll 8
    for (int k = 0; k < score.kCount; ++k) {
      const auto below = score.part[k] - lse;
      weight.part[k] = below > 0 ? typename Vec16<F, kBytes>::V{} : below;  // by rounding only
    }
    exponentiate(weight);
#pragma GCC unroll 8
    for (int k = 0; k < score.kCount; ++k) {
      slope.part[k] = weight.part[k] * (slope.part[k] - delta);
      if (softcap > 0) {
        const auto rest = score.part[k] * inverse;
        slope.part[k] *= 1 - rest * rest;
      }
    }
    weight.store(weights + j);
    slope.store(slopes + j);
  }
}

}  // namespace evenkeel::kernels::cpu
