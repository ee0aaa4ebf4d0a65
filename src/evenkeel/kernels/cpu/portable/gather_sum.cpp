// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/gather_sum.h"

#include <algorithm>
#include <array>

namespace evenkeel::kernels::cpu {

template <typename T, typename To>
EK_CLONES void gather_sum(const T* __restrict rows, const std::int64_t* __restrict index,
                          std::int64_t count, To* __restrict to, std::int64_t width,
                          bool is_added) {
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

template void gather_sum(const double*, const std::int64_t*, std::int64_t, double*, std::int64_t,
                         bool);
template void gather_sum(const double*, const std::int64_t*, std::int64_t, float*, std::int64_t,
                         bool);
template void gather_sum(const float*, const std::int64_t*, std::int64_t, float*, std::int64_t,
                         bool);
template void gather_sum(const Bf16*, const std::int64_t*, std::int64_t, Bf16*, std::int64_t, bool);
template void gather_sum(const Bf16*, const std::int64_t*, std::int64_t, float*, std::int64_t,
                         bool);

}  // namespace evenkeel::kernels::cpu
