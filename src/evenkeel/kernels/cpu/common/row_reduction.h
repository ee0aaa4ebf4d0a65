// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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

/// combine(lane[k], lane[k + kHalf]) of a vector, and so on with half of kHalf.
template <std::size_t kHalf, typename V, typename Combine, std::size_t... k>
[[gnu::always_inline]] inline void halve_vector(V& lanes, const Combine& combine,
                                                std::index_sequence<k...> all) {
  const V upper = __builtin_shufflevector(lanes, lanes, (k + kHalf) % sizeof...(k)...);
  combine(lanes, upper);
  if constexpr (kHalf > 1) halve_vector<kHalf / 2>(lanes, combine, all);
}

/// One value from sixteen lanes, by a binary tree of combine(lane[k], lane[k + half]): one order
/// for every instruction set. Vectors are halved in registers; the compiler would store and load
/// them.
template <typename F, int kBytes, typename Combine>
[[gnu::always_inline]] inline F reduce_lanes(const Vec16<F, kBytes>& all, const Combine& combine) {
  auto lanes = all;
#pragma GCC unroll 4
  for (int half = lanes.kCount / 2; half > 0; half /= 2) {
#pragma GCC unroll 4
    for (int k = 0; k < half; ++k) combine(lanes.part[k], lanes.part[k + half]);
  }
  halve_vector<lanes.kPartSize / 2>(lanes.part[0], combine,
                                    std::make_index_sequence<lanes.kPartSize>());
  return lanes.part[0][0];
}

/// The sum of sixteen lanes, in the order of reduce_lanes().
template <typename F, int kBytes>
[[gnu::always_inline]] inline F horizontal_sum(const Vec16<F, kBytes>& lanes) {
  using V = typename Vec16<F, kBytes>::V;
  return reduce_lanes<F, kBytes>(lanes, [](V& sum, const V& next) { sum += next; });
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
