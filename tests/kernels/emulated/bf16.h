// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/emulated/dot_products.h"
#include "kernels/emulated/vectors.h"

/// Vectors of bfloat16. Values below the normal numbers are 0 to these instructions, and so are
/// such results.

namespace emulated {

inline float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.F, x) : x;
}
inline float float_of(std::uint16_t bits) {
  return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}
/// To nearest, ties to even.
inline std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace emulated

inline __m256bh _mm512_cvtneps_pbh(__m512 x) {
  return emulated::of_lanes<std::uint16_t, __m256bh>(
      [&](int i) { return emulated::bf16_of(x[i]); });
}
inline __m512bh _mm512_cvtne2ps_pbh(__m512 high, __m512 low) {
  return emulated::of_lanes<std::uint16_t, __m512bh>(
      [&](int i) { return emulated::bf16_of(i < 16 ? low[i] : high[i - 16]); });
}
inline __m512 _mm512_dpbf16_ps(__m512 sum, __m512bh a, __m512bh b) {
  auto sums = emulated::lanes<float>(sum);
  const auto left = emulated::lanes<std::uint16_t>(a), right = emulated::lanes<std::uint16_t>(b);
  emulated::add_dot_products(sums.of, left.of, right.of);
  return emulated::vector(sums);
}
