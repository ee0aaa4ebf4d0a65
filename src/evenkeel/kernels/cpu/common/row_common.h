// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "evenkeel/kernels/cpu/common/row_reduction.h"
#include "evenkeel/kernels/cpu/common/simd.h"

/// What the norms of rows share. Sums are in double: the squares of a float32 row then neither
/// overflow nor vanish, and its sums are exact to its last place; in float32 are only those of
/// backward passes of which enough is left (norm_backward_float32.h), and sums and squares of rows
/// that fit float32 and heads of bfloat16 (*_avx512.h). What is done to each value alone is in
/// float32, at twice the rate, where no more than the rounding of the result is at stake and all
/// factors fit float32; else it is in double, too.
namespace evenkeel::kernels::cpu {

/// A power of two that brings the squares of a row, and epsilon, into the range of a double.
/// Rows of float and bfloat16 lie there as they are.
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

/// Whether a product with this factor, and some like it, stays in the normal range of float32:
/// whether it lies between 1 / kFloat32SafeMagnitude and kFloat32SafeMagnitude.
inline constexpr double kFloat32SafeMagnitude = 0x1p60;
inline bool fits_float32(double factor) {
  return factor > 1 / kFloat32SafeMagnitude && factor < kFloat32SafeMagnitude;
}

/// Processes rows from `first` on, four at a time where all fit float32, then one at a
/// time. \param four, one  row -> whether it is done, with the three behind it or alone
/// \return how many are done, up to the first that is not
template <typename Four, typename One>
inline std::int64_t processed_rows(std::int64_t first, std::int64_t rows, const Four& four,
                                   const One& one) {
  constexpr std::int64_t kAtOnce = 4;
  auto row = first;
  while (row + kAtOnce <= rows && four(row)) row += kAtOnce;
  while (row < rows && one(row)) ++row;
  return row - first;
}

/// Prefetches 2 KB ahead: memory is read at half its rate where the hardware prefetcher has to
/// guess what comes next, in rows of which each is read twice (docs/decisions/0013).
[[gnu::always_inline]] inline void prefetch_ahead(const void* at) {
  // An address past the end of the object, which pointer arithmetic may not form.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(at) + 2048));
}

/// 1 / sqrt(mean_square), and 0 for a row without extent: it then gives zeros, and a finite
/// gradient.
inline double inverse_root(double mean_square) {
  return mean_square == 0 ? 0 : 1 / std::sqrt(mean_square);
}

}  // namespace evenkeel::kernels::cpu
