// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_reduction.cuh"

/// Device code for kernels of one block a row: rows in shared memory, and statistics of rows whose
/// squares leave the range of float.
namespace evenkeel::kernels::cuda {

/// Bytes of a row in shared memory.
template <typename T>
__host__ __device__ std::int64_t staged_bytes(std::int64_t width) {
  return (width * static_cast<std::int64_t>(sizeof(T)) + 15) / 16 * 16;
}

/// Bytes of `count` rows in shared memory; 0 if that is too much, and staged_row() then gives rows
/// in global memory.
template <typename T>
std::int64_t staging_of(std::int64_t width, int count) {
  constexpr std::int64_t kMost = 40 * 1024;  // a launch takes 48 KB unless it asks for more
  const std::int64_t bytes = count * staged_bytes<T>(width);
  return bytes <= kMost ? bytes : 0;
}

/// A row in shared memory, at place `place`, or, unless is_staged, the row itself. Each thread may
/// read what for_own_columns<kCount>() gives to it, and no more.
template <int kCount, typename T>
__device__ const T* staged_row(const T* row, std::int64_t width, int place, bool is_staged) {
  extern __shared__ __align__(16) unsigned char staging[];
  if (!is_staged) return row;
  T* const to = reinterpret_cast<T*>(staging + place * staged_bytes<T>(width));
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    if constexpr (kCount == 1) {
      to[i] = row[i];
    } else {
      *reinterpret_cast<PackedRow<T>*>(to + i) = *reinterpret_cast<const PackedRow<T>*>(row + i);
    }
  });
  return to;
}

/// True if a sum of squares may have overflowed, or lost terms below the normal numbers.
template <typename F>
__device__ bool is_extreme(F squares) {
  constexpr bool kIsFloat = sizeof(F) == sizeof(float);
  constexpr F kLeast = static_cast<F>(kIsFloat ? 1e-28 : 1e-280);
  constexpr F kMost = static_cast<F>(kIsFloat ? 1e36 : 1e300);
  return !(squares >= kLeast && squares <= kMost);
}

/// A power of two that brings `largest` to about 1; 1 for zero, infinity and NaN.
template <typename F>
__device__ F inverse_power_of_two(F largest) {
  constexpr int kMost = sizeof(F) == sizeof(float) ? 126 : 1022;  // 2^-kMost is a normal number
  if (!isfinite(largest) || largest == 0) return 1;
  return ldexp(static_cast<F>(1), -max(-kMost, min(kMost, ilogb(largest))));
}

/// The largest absolute value of a row, NaNs aside; the same for every thread.
template <int kCount, typename T>
__device__ OpMathType<T> row_largest(const T* x, std::int64_t width) {
  OpMathType<T> largest = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto values = load_row<kCount>(x + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto size = values[k] < 0 ? -values[k] : values[k];
      largest = size > largest ? size : largest;
    }
  });
  return block_largest(largest);
}

}  // namespace evenkeel::kernels::cuda
