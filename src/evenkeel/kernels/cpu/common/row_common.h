// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cpu/common/prefetch.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"
#include "evenkeel/kernels/cpu/common/simd.h"
#include "evenkeel/kernels/cpu/common/vec16.h"

/// Arithmetic that all norms of rows share.
///
/// Sums over a row are in double: the squares of a float32 row then neither overflow nor underflow,
/// and the sum is exact to the last place of float32. Two exceptions are in float32: backward
/// passes without cancellation (norm_backward_float32.h), and bfloat16 rows in the safe range of
/// float32 (*_avx512.h). Element-wise operations are in float32, which is twice as fast, if all
/// coefficients are in the safe range and only the rounding of the result changes; else in double.
namespace evenkeel::kernels::cpu {

/// A power of two by which a row is scaled so that its squares, and epsilon, are in the range of a
/// double. For rows of float and bfloat16 it is 1.
template <typename T>
[[gnu::always_inline]] inline double row_scale(const T* /*x*/, std::int64_t /*width*/,
                                               double /*epsilon*/) {
  return 1;
}
template <>
[[gnu::always_inline]] inline double row_scale(const double* x, std::int64_t width,
                                               double epsilon) {
  double largest = std::sqrt(epsilon);
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, std::abs(x[i]));
  if (!std::isfinite(largest) || largest == 0) return 1;
  constexpr int kNormal = 1022;  // both 2^1022 and 2^-1022 are normal numbers
  return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -kNormal, kNormal));
}

/// Whether a coefficient is in the safe range of float32, [1 / kFloat32SafeMagnitude,
/// kFloat32SafeMagnitude]: products of several such stay normal numbers.
inline constexpr double kFloat32SafeMagnitude = 0x1p60;
[[gnu::always_inline]] inline bool fits_float32(double factor) {
  return factor > 1 / kFloat32SafeMagnitude && factor < kFloat32SafeMagnitude;
}

/// Processes rows from `first` on, four at a time where all are in the safe range, then one at a
/// time.
/// \param four  row -> whether rows [row, row + 4) are done
/// \param one   row -> whether this row is done
/// \return the number of rows done, up to the first that is not
template <typename Four, typename One>
inline std::int64_t processed_rows(std::int64_t first, std::int64_t rows, const Four& four,
                                   const One& one) {
  constexpr std::int64_t kAtOnce = 4;
  auto row = first;
  while (row + kAtOnce <= rows && four(row)) row += kAtOnce;
  while (row < rows && one(row)) ++row;
  return row - first;
}

/// Prefetches 2 KB ahead. A row is read twice, which the hardware prefetcher does not predict;
/// without this prefetch, memory is read at half its bandwidth (docs/decisions/0013).
[[gnu::always_inline]] inline void prefetch_ahead(const void* at) {
  prefetch(at, 2048);
}

/// Calls step(v) for the values of a row in double, sixteen at a time; zeros follow the last.
/// \tparam kPrefetch  prefetches the next rows; not for heads, which are contiguous and short
template <bool kPrefetch, typename T, typename Step>
[[gnu::always_inline]] inline void for_each_vec16(const T* x, std::int64_t width,
                                                  const Step& step) {
  Vec16<double> v;
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    if constexpr (kPrefetch) prefetch_ahead(x + i);
    load_vec16(v, x + i);
    step(v);
  }
  if (i == width) return;
  T last[kLanes] = {};
  std::copy(x + i, x + width, last);
  load_vec16(v, last);
  step(v);
}

/// The sum of the squares of scale * x, in double and in the order of sum_over().
/// \tparam kPrefetch  as for for_each_vec16()
/// \param scale  row_scale(): 1 for rows of float and bfloat16
template <bool kPrefetch = true, typename T>
[[gnu::always_inline]] inline double squares_of_row(const T* x, std::int64_t width,
                                                    double scale = 1) {
  if constexpr (std::is_same_v<T, double>) {
    return sum_over(width, [=](std::int64_t i) {
      const double scaled = x[i] * scale;
      return scaled * scaled;
    });
  } else {  // products of two floats are exact in double: the same with fused multiply-adds
    Vec16<double> sums;
    for_each_vec16<kPrefetch>(x, width, [&sums](const Vec16<double>& v) {
#pragma GCC unroll 8
      for (int k = 0; k < v.kCount; ++k) sums.part[k] += v.part[k] * v.part[k];
    });
    return horizontal_sum(sums);
  }
}

/// 1 / sqrt(mean_square); 0 for a row of zeros, whose result is then zeros with a finite gradient.
inline double inverse_root(double mean_square) {
  return mean_square == 0 ? 0 : 1 / std::sqrt(mean_square);
}

}  // namespace evenkeel::kernels::cpu
