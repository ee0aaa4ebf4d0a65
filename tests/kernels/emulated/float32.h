// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/emulated/vectors.h"

/// Vectors of float32.

enum { _MM_FROUND_TO_NEG_INF = 1, _MM_FROUND_NO_EXC = 8 };

namespace emulated {

/// a b + c, rounded once but for ties of its double.
inline float fused(float a, float b, float c) {
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b) +
                            static_cast<double>(c));
}
template <typename Lane>
__m512 floats(const Lane& lane) {
  return of_lanes<float, __m512>(lane);
}
/// The second one where one of them is a NaN.
inline float larger(float a, float b) {
  return a > b ? a : b;
}
inline float with_bits(float a, float b, std::uint32_t (*op)(std::uint32_t, std::uint32_t)) {
  return std::bit_cast<float>(op(std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b)));
}

}  // namespace emulated

inline __m512 _mm512_setzero_ps() {
  return __m512{};
}
inline __m512 _mm512_set1_ps(float x) {
  return emulated::floats([&](int) { return x; });  // not 0 + x, which loses the sign of -0
}
inline __m512 _mm512_loadu_ps(const float* from) {
  return emulated::load<__m512>(from);
}
inline __m512 _mm512_load_ps(const float* from) {
  emulated::must_be_aligned<64>(from);
  return _mm512_loadu_ps(from);
}
inline __m512 _mm512_maskz_loadu_ps(__mmask16 mask, const float* from) {
  return emulated::load_some<float, __m512>(mask, from);
}
inline void _mm512_storeu_ps(float* to, __m512 x) {
  emulated::store(to, x);
}
inline void _mm512_store_ps(float* to, __m512 x) {
  emulated::must_be_aligned<64>(to);
  emulated::store(to, x);
}
inline void _mm512_stream_ps(float* to, __m512 x) {
  _mm512_store_ps(to, x);
}
inline void _mm512_mask_storeu_ps(float* to, __mmask16 mask, __m512 x) {
  emulated::store_some<float>(to, mask, x);
}

inline __m512 _mm512_add_ps(__m512 a, __m512 b) {
  return a + b;
}
inline __m512 _mm512_sub_ps(__m512 a, __m512 b) {
  return a - b;
}
inline __m512 _mm512_mul_ps(__m512 a, __m512 b) {
  return a * b;
}
inline __m512 _mm512_div_ps(__m512 a, __m512 b) {
  return a / b;
}
inline __m512 _mm512_fmadd_ps(__m512 a, __m512 b, __m512 c) {
  return emulated::floats([&](int i) { return emulated::fused(a[i], b[i], c[i]); });
}
inline __m512 _mm512_fmsub_ps(__m512 a, __m512 b, __m512 c) {
  return emulated::floats([&](int i) { return emulated::fused(a[i], b[i], -c[i]); });
}
inline __m512 _mm512_fnmadd_ps(__m512 a, __m512 b, __m512 c) {
  return emulated::floats([&](int i) { return emulated::fused(-a[i], b[i], c[i]); });
}
inline __m512 _mm512_max_ps(__m512 a, __m512 b) {
  return emulated::floats([&](int i) { return emulated::larger(a[i], b[i]); });
}
inline __m512 _mm512_min_ps(__m512 a, __m512 b) {
  return emulated::floats([&](int i) { return a[i] < b[i] ? a[i] : b[i]; });
}
inline __m512 _mm512_and_ps(__m512 a, __m512 b) {
  return emulated::floats([&](int i) {
    return emulated::with_bits(a[i], b[i], [](std::uint32_t x, std::uint32_t y) { return x & y; });
  });
}
inline __m512 _mm512_or_ps(__m512 a, __m512 b) {
  return emulated::floats([&](int i) {
    return emulated::with_bits(a[i], b[i], [](std::uint32_t x, std::uint32_t y) { return x | y; });
  });
}
inline __m512 _mm512_abs_ps(__m512 x) {
  return emulated::floats([&](int i) { return std::fabs(x[i]); });
}
/// Right to 14 bits, and no more.
inline __m512 _mm512_rcp14_ps(__m512 x) {
  return emulated::floats([&](int i) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(1 / x[i]) & 0xfffffe00U);
  });
}
/// x less the whole number below.
inline __m512 _mm512_reduce_ps(__m512 x, int how) {
  if (how != (_MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)) emulated::stop("another rest");
  return emulated::floats([&](int i) { return std::isinf(x[i]) ? 0 : x[i] - std::floor(x[i]); });
}
/// a times 2 to the whole number below b; 0 outside the mask.
inline __m512 _mm512_maskz_scalef_ps(__mmask16 mask, __m512 a, __m512 b) {
  return emulated::floats([&](int i) {
    if (!emulated::has(mask, i)) return 0.F;
    if (std::isnan(b[i])) return b[i];
    constexpr float kMost = 1000;
    const float whole = b[i] > kMost ? kMost : b[i] < -kMost ? -kMost : std::floor(b[i]);
    return std::ldexp(a[i], static_cast<int>(whole));
  });
}
/// The larger of |a| and |b|; the other one where one is a NaN.
inline __m512 _mm512_range_ps(__m512 a, __m512 b, int how) {
  if (how != (3 | 2 << 2)) emulated::stop("another range");
  return emulated::floats([&](int i) { return std::fmax(std::fabs(a[i]), std::fabs(b[i])); });
}
inline __mmask16 _mm512_fpclass_ps_mask(__m512 x, int which) {
  if (which != 0x20) emulated::stop("another class");
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) {
    const float size = std::fabs(x[i]);
    mask |= size > 0 && size < std::numeric_limits<float>::min() ? 1U << i : 0;
  }
  return static_cast<__mmask16>(mask);
}
inline __mmask16 _mm512_cmp_ps_mask(__m512 a, __m512 b, int how) {
  return emulated::mask_of_comparison<__mmask16>(a, b, how);
}

/// b in the lanes of the mask, a elsewhere.
inline __m512 _mm512_mask_blend_ps(__mmask16 mask, __m512 a, __m512 b) {
  return emulated::floats([&](int i) { return emulated::has(mask, i) ? b[i] : a[i]; });
}
inline __m512 _mm512_mask_mov_ps(__m512 other, __mmask16 mask, __m512 x) {
  return _mm512_mask_blend_ps(mask, other, x);
}
inline __m512 _mm512_maskz_mov_ps(__mmask16 mask, __m512 x) {
  return _mm512_mask_blend_ps(mask, __m512{}, x);
}
inline __m512 _mm512_maskz_mul_ps(__mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_blend_ps(mask, __m512{}, a * b);
}
inline __m512 _mm512_mask_add_ps(__m512 other, __mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_blend_ps(mask, other, a + b);
}
inline __m512 _mm512_mask_max_ps(__m512 other, __mmask16 mask, __m512 a, __m512 b) {
  return _mm512_mask_blend_ps(mask, other, _mm512_max_ps(a, b));
}

inline float _mm512_reduce_add_ps(__m512 x) {
  return emulated::sum_of<float>(x);
}
inline float _mm512_reduce_max_ps(__m512 x) {
  float most = x[0];
  for (int i = 1; i < 16; ++i) most = emulated::larger(x[i], most);
  return most;
}

inline __m512 _mm512_unpacklo_ps(__m512 a, __m512 b) {
  return emulated::unpack<float>(a, b, false);
}
inline __m512 _mm512_unpackhi_ps(__m512 a, __m512 b) {
  return emulated::unpack<float>(a, b, true);
}
inline __m512 _mm512_shuffle_f32x4(__m512 a, __m512 b, int which) {
  return emulated::shuffle_quarters(a, b, which);
}
inline __m512 _mm512_permute_ps(__m512 a, int which) {
  return emulated::floats([&](int i) { return a[i / 4 * 4 + (which >> i % 4 * 2 & 3)]; });
}
inline __m512 _mm512_insertf32x8(__m512 a, __m256 half, int which) {
  return emulated::insert(a, half, which);
}
inline __m256 _mm512_extractf32x8_ps(__m512 a, int which) {
  return emulated::lanes<__m256>(a).of[which];
}
inline __m256 _mm512_castps512_ps256(__m512 a) {
  return _mm512_extractf32x8_ps(a, 0);
}
inline __m512 _mm512_castps256_ps512(__m256 half) {
  return emulated::widen<__m512>(half);
}

inline __m256 _mm256_set1_ps(float x) {
  return emulated::of_lanes<float, __m256>([&](int) { return x; });
}
inline __m256 _mm256_loadu_ps(const float* from) {
  return emulated::load<__m256>(from);
}
inline __m256 _mm256_add_ps(__m256 a, __m256 b) {
  return a + b;
}
inline __m256 _mm256_mul_ps(__m256 a, __m256 b) {
  return a * b;
}
inline __m128 _mm256_extractf128_ps(__m256 a, int which) {
  return emulated::lanes<__m128>(a).of[which];
}
inline __m128 _mm256_castps256_ps128(__m256 a) {
  return _mm256_extractf128_ps(a, 0);
}
inline __m256 _mm256_hadd_ps(__m256 a, __m256 b) {
  return emulated::neighbour_sums<float>(a, b);
}
inline __m256 _mm256_permute2f128_ps(__m256 a, __m256 b, int which) {
  return emulated::two_quarters(a, b, which);
}
