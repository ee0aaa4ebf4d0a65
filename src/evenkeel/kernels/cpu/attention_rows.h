// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "evenkeel/kernels/cpu/exp.h"
#include "evenkeel/kernels/cpu/reduce.h"

/// The softmax of one row of scores in whole vectors; for the files of attention() only. A row has
/// memory for kLanes values more than it counts, which are made to weigh nothing.
namespace evenkeel::kernels::cpu {

/// kLanes values in vectors of kBytes bytes.
template <typename F, int kBytes>
struct Chunk {
  using V = typename VectorOf<F, kBytes>::Type;
  static constexpr int kEach = kBytes / static_cast<int>(sizeof(F)), kCount = kLanes / kEach;
  V part[kCount];

  [[gnu::always_inline]] void load(const F* from) {
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) load_vector(part[k], from + k * kEach);
  }
  [[gnu::always_inline]] void store(F* to) const {
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) store_vector(to + k * kEach, part[k]);
  }
  [[gnu::always_inline]] void exponentiate() {
#pragma GCC unroll 8
    for (int k = 0; k < kCount; ++k) {
      if constexpr (sizeof(F) == sizeof(float)) {
        exp_below_of_each(part[k]);
      } else {
        for (int i = 0; i < kEach; ++i) part[k][i] = exp_below(part[k][i]);
      }
    }
  }
};

/// What stands behind the last score of a row until the next multiple of kLanes.
template <typename F>
[[gnu::always_inline]] inline void hide_rest(F* row, std::int64_t count) {
  for (int k = 0; k < kLanes; ++k) row[count + k] = -std::numeric_limits<F>::infinity();
}

/// The largest of `least` and the scores; no NaN is.
template <int kBytes, typename F>
[[gnu::always_inline]] inline F largest_of_row(const F* __restrict row, std::int64_t count,
                                               F least) {
  Chunk<F, kBytes> most = {}, next = {};
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
[[gnu::always_inline]] inline F weigh_row(F* __restrict row, std::int64_t count, F largest) {
  Chunk<F, kBytes> sum = {}, next = {};
  for (std::int64_t j = 0; j < count; j += kLanes) {
    next.load(row + j);
#pragma GCC unroll 8
    for (int k = 0; k < sum.kCount; ++k) next.part[k] -= largest;
    next.exponentiate();
#pragma GCC unroll 8
    for (int k = 0; k < sum.kCount; ++k) sum.part[k] += next.part[k];
    next.store(row + j);
  }
  F lane[kLanes];
  sum.store(lane);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
  }
  return lane[0];
}

/// In: weights holds scores, slopes dL/dp. Out: p = exp(s - lse), and dL/ds = p (dL/dp - delta)
/// (1 - (s / softcap)^2), the last factor with a cap only.
template <int kBytes, typename F>
[[gnu::always_inline]] inline void weigh_row_backward(F* __restrict weights, F* __restrict slopes,
                                                      std::int64_t count, F lse, F delta,
                                                      F softcap) {
  Chunk<F, kBytes> score = {}, slope = {}, weight = {};
  const F inverse = softcap > 0 ? 1 / softcap : 0;
  for (std::int64_t j = 0; j < count; j += kLanes) {
    score.load(weights + j);
    slope.load(slopes + j);
#pragma GCC unroll 8
    for (int k = 0; k < score.kCount; ++k) {
      const auto below = score.part[k] - lse;
      weight.part[k] = below > 0 ? typename Chunk<F, kBytes>::V{} : below;  // by rounding only
    }
    weight.exponentiate();
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
