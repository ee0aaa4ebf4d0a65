// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/emulated/vectors.h"

/// Vectors of whole numbers, whatever their width.

inline __m512i _mm512_setzero_si512() {
  return __m512i{};
}
inline __m512i _mm512_set1_epi16(short x) {
  return emulated::of_lanes<short, __m512i>([&](int) { return x; });
}
inline __m512i _mm512_set1_epi32(int x) {
  return emulated::of_lanes<int, __m512i>([&](int) { return x; });
}
inline __m512i _mm512_setr_epi64(long long a, long long b, long long c, long long d, long long e,
                                 long long f, long long g, long long h) {
  return __m512i{a, b, c, d, e, f, g, h};
}
inline __m512i _mm512_loadu_si512(const void* from) {
  return emulated::load<__m512i>(from);
}
inline __m512i _mm512_maskz_loadu_epi16(__mmask32 mask, const void* from) {
  return emulated::load_some<std::uint16_t, __m512i>(mask, from);
}
inline void _mm512_storeu_si512(void* to, __m512i x) {
  emulated::store(to, x);
}
inline void _mm512_store_si512(void* to, __m512i x) {
  emulated::must_be_aligned<64>(to);
  emulated::store(to, x);
}
inline void _mm512_stream_si512(void* to, __m512i x) {
  _mm512_store_si512(to, x);
}
inline void _mm512_mask_storeu_epi16(void* to, __mmask32 mask, __m512i x) {
  emulated::store_some<std::uint16_t>(to, mask, x);
}
inline __m512i _mm512_slli_epi32(__m512i x, unsigned by) {
  const auto all = emulated::lanes<std::uint32_t>(x);
  return emulated::of_lanes<std::uint32_t, __m512i>([&](int i) { return all.of[i] << by; });
}
inline __m512i _mm512_cvtepu16_epi32(__m256i x) {
  const auto all = emulated::lanes<std::uint16_t>(x);
  return emulated::of_lanes<std::uint32_t, __m512i>([&](int i) { return all.of[i]; });
}
inline __m512i _mm512_unpacklo_epi16(__m512i a, __m512i b) {
  return emulated::unpack<std::uint16_t>(a, b, false);
}
inline __m512i _mm512_unpackhi_epi16(__m512i a, __m512i b) {
  return emulated::unpack<std::uint16_t>(a, b, true);
}
inline __m512i _mm512_unpacklo_epi32(__m512i a, __m512i b) {
  return emulated::unpack<std::uint32_t>(a, b, false);
}
inline __m512i _mm512_unpackhi_epi32(__m512i a, __m512i b) {
  return emulated::unpack<std::uint32_t>(a, b, true);
}
inline __m512i _mm512_unpacklo_epi64(__m512i a, __m512i b) {
  return emulated::unpack<std::uint64_t>(a, b, false);
}
inline __m512i _mm512_unpackhi_epi64(__m512i a, __m512i b) {
  return emulated::unpack<std::uint64_t>(a, b, true);
}
inline __m512i _mm512_shuffle_i32x4(__m512i a, __m512i b, int which) {
  return emulated::shuffle_quarters(a, b, which);
}
inline __m512i _mm512_permutex2var_epi64(__m512i a, __m512i which, __m512i b) {
  return emulated::of_lanes<long long, __m512i>(
      [&](int i) { return (which[i] & 8) == 0 ? a[which[i] & 7] : b[which[i] & 7]; });
}
inline __m512i _mm512_inserti32x4(__m512i a, __m128i quarter, int which) {
  return emulated::insert(a, quarter, which);
}
inline __m512i _mm512_castsi128_si512(__m128i quarter) {
  return emulated::widen<__m512i>(quarter);
}
inline __m512i _mm512_castps_si512(__m512 x) {
  return emulated::load<__m512i>(&x);
}
inline __m512 _mm512_castsi512_ps(__m512i x) {
  return emulated::load<__m512>(&x);
}

inline __m256i _mm256_loadu_si256(const __m256i* from) {
  return emulated::load<__m256i>(from);
}
inline __m256i _mm256_maskz_loadu_epi16(__mmask16 mask, const void* from) {
  return emulated::load_some<std::uint16_t, __m256i>(mask, from);
}
inline void _mm256_storeu_si256(__m256i* to, __m256i x) {
  emulated::store(to, x);
}
inline void _mm256_mask_storeu_epi16(void* to, __mmask16 mask, __m256i x) {
  emulated::store_some<std::uint16_t>(to, mask, x);
}
inline __m256i _mm256_maskz_loadu_epi8(__mmask32 mask, const void* from) {
  return emulated::load_some<std::uint8_t, __m256i>(mask, from);
}
inline __m256i _mm256_cvtepi8_epi16(__m128i x) {
  const auto all = emulated::lanes<std::int8_t>(x);
  return emulated::of_lanes<std::int16_t, __m256i>([&](int i) { return all.of[i]; });
}
/// Sums of 32 bits wrap around.
inline __m256i _mm256_madd_epi16(__m256i a, __m256i b) {
  const auto left = emulated::lanes<std::int16_t>(a), right = emulated::lanes<std::int16_t>(b);
  return emulated::of_lanes<std::uint32_t, __m256i>([&](int i) {
    const auto products = std::int64_t{left.of[2 * i]} * right.of[2 * i] +
                          std::int64_t{left.of[2 * i + 1]} * right.of[2 * i + 1];
    return static_cast<std::uint32_t>(products);
  });
}
inline __m512i _mm512_srli_epi32(__m512i x, unsigned by) {
  const auto all = emulated::lanes<std::uint32_t>(x);
  return emulated::of_lanes<std::uint32_t, __m512i>([&](int i) { return all.of[i] >> by; });
}
inline __m512i _mm512_and_si512(__m512i a, __m512i b) {
  return a & b;
}
/// The lower halves of the words.
inline __m256i _mm512_cvtepi32_epi16(__m512i x) {
  const auto all = emulated::lanes<std::uint32_t>(x);
  return emulated::of_lanes<std::uint16_t, __m256i>(
      [&](int i) { return static_cast<std::uint16_t>(all.of[i]); });
}
/// x in the lanes of the mask, `other` elsewhere.
inline __m256i _mm256_mask_mov_epi16(__m256i other, __mmask16 mask, __m256i x) {
  const auto kept = emulated::lanes<std::uint16_t>(other),
             taken = emulated::lanes<std::uint16_t>(x);
  return emulated::of_lanes<std::uint16_t, __m256i>(
      [&](int i) { return emulated::has(mask, i) ? taken.of[i] : kept.of[i]; });
}
inline __m256i _mm256_add_epi32(__m256i a, __m256i b) {
  const auto left = emulated::lanes<std::uint32_t>(a), right = emulated::lanes<std::uint32_t>(b);
  return emulated::of_lanes<std::uint32_t, __m256i>(
      [&](int i) { return left.of[i] + right.of[i]; });
}
inline __m256i _mm256_add_epi64(__m256i a, __m256i b) {
  return a + b;
}
inline __m256i _mm256_cvtepi32_epi64(__m128i x) {
  const auto all = emulated::lanes<std::int32_t>(x);
  return emulated::of_lanes<std::int64_t, __m256i>([&](int i) { return all.of[i]; });
}
inline __m128i _mm256_castsi256_si128(__m256i x) {
  return emulated::load<__m128i>(&x);
}
inline __m128i _mm256_extracti128_si256(__m256i x, int half) {
  const auto all = emulated::lanes<std::int64_t>(x);
  return emulated::of_lanes<std::int64_t, __m128i>([&](int i) { return all.of[2 * half + i]; });
}
inline __m512i _mm512_cvtepi8_epi16(__m256i x) {
  const auto all = emulated::lanes<std::int8_t>(x);
  return emulated::of_lanes<std::int16_t, __m512i>([&](int i) { return all.of[i]; });
}
inline __m256i _mm512_castsi512_si256(__m512i x) {
  return emulated::load<__m256i>(&x);
}
inline __m256i _mm512_extracti64x4_epi64(__m512i x, int half) {
  const auto all = emulated::lanes<std::int64_t>(x);
  return emulated::of_lanes<std::int64_t, __m256i>([&](int i) { return all.of[4 * half + i]; });
}
inline __m512i _mm512_cvtepi32_epi64(__m256i x) {
  const auto all = emulated::lanes<std::int32_t>(x);
  return emulated::of_lanes<std::int64_t, __m512i>([&](int i) { return all.of[i]; });
}
inline __m512i _mm512_add_epi32(__m512i a, __m512i b) {
  const auto left = emulated::lanes<std::uint32_t>(a), right = emulated::lanes<std::uint32_t>(b);
  return emulated::of_lanes<std::uint32_t, __m512i>(
      [&](int i) { return left.of[i] + right.of[i]; });
}
inline __m512i _mm512_add_epi64(__m512i a, __m512i b) {
  return a + b;
}
inline std::int64_t _mm512_reduce_add_epi64(__m512i x) {
  return emulated::sum_of<std::int64_t>(x);
}
/// Sums of 32 bits wrap around.
inline __m512i _mm512_dpwssd_epi32(__m512i sum, __m512i a, __m512i b) {
  const auto left = emulated::lanes<std::int16_t>(a), right = emulated::lanes<std::int16_t>(b);
  const auto start = emulated::lanes<std::uint32_t>(sum);
  return emulated::of_lanes<std::uint32_t, __m512i>([&](int i) {
    const auto products = std::int64_t{left.of[2 * i]} * right.of[2 * i] +
                          std::int64_t{left.of[2 * i + 1]} * right.of[2 * i + 1];
    return start.of[i] + static_cast<std::uint32_t>(products);
  });
}
