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

/// The scores of consecutive queries for the keys of a block, from a common first key on. Rows are
/// computed in turns, so that one need not wait for the sums of another.
template <int kRows, typename F>
struct ScoreRows {
  F* scores = nullptr;        // row r at scores + r * stride
  std::int64_t stride = 0;    // at least the largest count, rounded up to kLanes
  std::int64_t count[kRows];  // keys that a query sees, not 0

  /// \param block   rows of scores from the first key of a block on
  /// \param ranges  of the keys that the queries see; they begin together
  [[gnu::always_inline]] ScoreRows(F* block, std::int64_t row_stride, const Range* ranges)
      : scores(block + ranges[0].begin), stride(row_stride) {
    for (int r = 0; r < kRows; ++r) count[r] = ranges[r].end - ranges[r].begin;
  }
  /// The largest count, rounded up to whole vectors.
  std::int64_t whole() const {
    const auto most = *std::max_element(count, count + kRows);
    return (most + kLanes - 1) / kLanes * kLanes;
  }
  [[gnu::always_inline]] void cap(F softcap) const {
    if (softcap == 0) return;
    for (int r = 0; r < kRows; ++r) cap_row(scores + r * stride, count[r], softcap);
  }
  /// Scores after those of the visible keys weigh nothing.
  [[gnu::always_inline]] void mask_tails() const {
    const auto end = whole();
    for (int r = 0; r < kRows; ++r) {
      F* const row = scores + r * stride;
      std::fill(row + count[r], row + end, -std::numeric_limits<F>::infinity());
    }
  }
};

/// The running softmax of one query, as far as it went.
template <typename F>
struct OnlineSoftmaxRow {
  F largest = -std::numeric_limits<F>::infinity();
  F total = 0;
};

/// largest[r] becomes the largest of itself and the scores of row r; no NaN is.
template <int kBytes, int kRows, typename F>
[[gnu::always_inline]] inline void largest_of_rows(const ScoreRows<kRows, F>& in, F* largest) {
  using V = typename Vec16<F, kBytes>::V;
  const auto take_larger = [](V& most, const V& next) { most = next > most ? next : most; };
  Vec16<F, kBytes> most[kRows], next;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (V& each : most[r].part) each += largest[r];
  }
  const auto whole = in.whole();
  for (std::int64_t j = 0; j < whole; j += kLanes) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      next.load(in.scores + r * in.stride + j);
#pragma GCC unroll 8
      for (int k = 0; k < next.kCount; ++k) take_larger(most[r].part[k], next.part[k]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) largest[r] = reduce_lanes<F, kBytes>(most[r], take_larger);
}

/// Scores become exp(score - largest[r]).
/// \param total  written: their sums, in the order of sum_over()
template <int kBytes, int kRows, typename F>
[[gnu::always_inline]] inline void exp_rows(const ScoreRows<kRows, F>& in, const F* largest,
                                            F* total) {
  Vec16<F, kBytes> sum[kRows], next;
  const auto whole = in.whole(), stride = in.stride;
  F* __restrict const scores = in.scores;
  for (std::int64_t j = 0; j < whole; j += kLanes) {
#pragma GCC unroll 1
    for (int r = 0; r < kRows; ++r) {
      F* const at = scores + r * stride + j;
      next.load(at);
#pragma GCC unroll 8
      for (int k = 0; k < next.kCount; ++k) next.part[k] -= largest[r];
      exponentiate(next);
#pragma GCC unroll 8
      for (int k = 0; k < next.kCount; ++k) sum[r].part[k] += next.part[k];
      next.store(at);
    }
  }
  for (int r = 0; r < kRows; ++r) total[r] = horizontal_sum(sum[r]);
}

/// Turns more scores into weights.
/// \param running  one for each row
/// \param rescale  written: the factors of the weighted sums so far
template <int kBytes, int kRows, typename F>
[[gnu::always_inline]] inline void update_softmax(const ScoreRows<kRows, F>& in, F softcap,
                                                  OnlineSoftmaxRow<F>* running, F* rescale) {
  in.cap(softcap);
  in.mask_tails();
  F largest[kRows], more[kRows];
  for (int r = 0; r < kRows; ++r) largest[r] = running[r].largest;
  largest_of_rows<kBytes>(in, largest);
  exp_rows<kBytes>(in, largest, more);
  for (int r = 0; r < kRows; ++r) {
    auto& row = running[r];
    const bool has_grown = largest[r] > row.largest && row.total > 0;
    rescale[r] = has_grown ? exp_nonpositive(row.largest - largest[r]) : 1;
    row.largest = largest[r];
  }
  for (int r = 0; r < kRows; ++r) {
    auto& row = running[r];
    row.total = std::fma(row.total, rescale[r], more[r]);
  }
}

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
