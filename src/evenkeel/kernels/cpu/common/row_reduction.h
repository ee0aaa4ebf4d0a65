// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "evenkeel/kernels/cpu/common/vec16.h"

/// Sums and maxima over a row, with explicit vectors. Compilers do not always vectorize
/// `#pragma omp simd reduction`, and its order of additions depends on the instruction set. The
/// callers are under EK_CLONES, hence always inlined. Lambdas must capture by value: with captures
/// by reference the loop is not vectorized.
namespace evenkeel::kernels::cpu {

/// Calls step(lanes, next) for the terms of a row, sixteen at a time; terms beyond the end are
/// `filler`.
template <typename F, typename Term, typename Step>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t count, F filler, Vec16<F>& lanes,
                                                   const Term& term, const Step& step) {
  constexpr std::int64_t kTerms = 256;
  F terms[kTerms];  // computed by a separate loop, which the compiler vectorizes
  Vec16<F> next;
  for (std::int64_t first = 0; first < count; first += kTerms) {
    const auto here = std::min<std::int64_t>(kTerms, count - first);
    const auto whole = (here + kLanes - 1) / kLanes * kLanes;
#pragma omp simd
    for (std::int64_t i = 0; i < here; ++i) terms[i] = static_cast<F>(term(first + i));
    for (auto i = here; i < whole; ++i) terms[i] = filler;
    for (std::int64_t i = 0; i < whole; i += kLanes) {
      next.load(terms + i);
#pragma GCC unroll 8
      for (int k = 0; k < next.kCount; ++k) step(lanes.part[k], next.part[k]);
    }
  }
}

/// The sum of sixteen lanes by a binary tree: one order for every instruction set.
template <typename F, int kBytes>
[[gnu::always_inline]] inline F horizontal_sum(const Vec16<F, kBytes>& lanes) {
  F lane[kLanes];
  lanes.store(lane);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) lane[k] += lane[k + half];
  }
  return lane[0];
}

/// term(0) + ... + term(count - 1) in double: sixteen interleaved sums.
template <typename Term>
[[gnu::always_inline]] inline double sum_over(std::int64_t count, const Term& term) {
  using V = Vec16<double>::V;
  Vec16<double> lanes;
  for_each_vector(count, 0.0, lanes, term, [](V& sums, const V& next) { sums += next; });
  return horizontal_sum(lanes);
}

/// max(least, term(0), ..., term(count - 1)) in F; NaNs are ignored.
template <typename F, typename Term>
[[gnu::always_inline]] inline F max_over(std::int64_t count, F least, const Term& term) {
  using V = typename Vec16<F>::V;
  Vec16<F> lanes;
  for (V& each : lanes.part) each += least;
  for_each_vector(count, least, lanes, term,
                  [](V& most, const V& next) { most = next > most ? next : most; });
  F lane[kLanes];
  lanes.store(lane);
  return *std::max_element(lane, lane + kLanes);
}

}  // namespace evenkeel::kernels::cpu
