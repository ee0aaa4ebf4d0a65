// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/gather_sum.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "evenkeel/kernels/cpu/common/vec16.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The sum of kTerms rows in one pass, which reads them side by side.
template <int kTerms, typename T, typename To>
[[gnu::always_inline]] inline void sum_side_by_side(const T* __restrict rows,
                                                    const std::int64_t* __restrict index,
                                                    To* __restrict to, std::int64_t width,
                                                    bool is_added) {
  using F = OpMathType<T>;
  const T* row[kTerms];
  for (int i = 0; i < kTerms; ++i) row[i] = rows + index[i] * width;
  std::int64_t j = 0;
  for (; j + kLanes <= width; j += kLanes) {
    Vec16<F> sum, next;
    const auto add_next = [&] {
#pragma GCC unroll 8
      for (int k = 0; k < sum.kCount; ++k) sum.part[k] += next.part[k];
    };
#pragma GCC unroll 8
    for (int i = 0; i < kTerms; ++i) {
      load_vec16(next, row[i] + j);
      add_next();
    }
    if (is_added) {
      load_vec16(next, to + j);
      add_next();
    }
    F lanes[kLanes];
    sum.store(lanes);
#pragma omp simd
    for (int k = 0; k < kLanes; ++k) store(to + j + k, static_cast<double>(lanes[k]));
  }
  for (; j < width; ++j) {
    F sum = 0;
    for (int i = 0; i < kTerms; ++i) sum += static_cast<F>(load(row[i] + j));
    if (is_added) sum += static_cast<F>(load(to + j));
    store(to + j, static_cast<double>(sum));
  }
}

/// Any number of rows: one after another, for some columns at a time.
template <typename T, typename To>
[[gnu::always_inline]] inline void sum_in_turn(const T* __restrict rows,
                                               const std::int64_t* __restrict index,
                                               std::int64_t count, To* __restrict to,
                                               std::int64_t width, bool is_added) {
  constexpr std::int64_t kColumns = 256;  // sums at a time: they stay in the nearest cache
  std::array<OpMathType<T>, kColumns> sums;
  for (std::int64_t begin = 0; begin < width; begin += kColumns) {
    const auto columns = std::min(kColumns, width - begin);
    sums.fill(0);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* __restrict const row = rows + index[i] * width + begin;
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) {
        sums[static_cast<std::size_t>(j)] += static_cast<OpMathType<T>>(load(row + j));
      }
    }
    if (is_added) {
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) {
        sums[static_cast<std::size_t>(j)] += static_cast<OpMathType<T>>(load(to + begin + j));
      }
    }
#pragma omp simd
    for (std::int64_t j = 0; j < columns; ++j) {
      store(to + begin + j, static_cast<double>(sums[static_cast<std::size_t>(j)]));
    }
  }
}

/// \tparam kMost  the largest number of rows that are read side by side
template <int kMost, typename T, typename To>
[[gnu::always_inline]] inline void dispatch_count(const T* rows, const std::int64_t* index,
                                                  std::int64_t count, To* to, std::int64_t width,
                                                  bool is_added) {
  if constexpr (kMost > 0) {
    if (count == kMost) return sum_side_by_side<kMost>(rows, index, to, width, is_added);
    dispatch_count<kMost - 1>(rows, index, count, to, width, is_added);
  } else {
    sum_in_turn(rows, index, count, to, width, is_added);
  }
}

}  // namespace

template <typename T, typename To>
EK_CLONES void gather_sum(const T* __restrict rows, const std::int64_t* __restrict index,
                          std::int64_t count, To* __restrict to, std::int64_t width,
                          bool is_added) {
  if constexpr (std::is_same_v<T, To>) {
    if (count == 1 && !is_added) {
      std::copy_n(rows + *index * width, width, to);
      return;
    }
  }
  constexpr int kSideBySide = 8;
  dispatch_count<kSideBySide>(rows, index, count, to, width, is_added);
}

template void gather_sum(const double*, const std::int64_t*, std::int64_t, double*, std::int64_t,
                         bool);
template void gather_sum(const float*, const std::int64_t*, std::int64_t, float*, std::int64_t,
                         bool);
template void gather_sum(const Bf16*, const std::int64_t*, std::int64_t, Bf16*, std::int64_t, bool);
template void gather_sum(const Bf16*, const std::int64_t*, std::int64_t, float*, std::int64_t,
                         bool);

}  // namespace evenkeel::kernels::cpu
