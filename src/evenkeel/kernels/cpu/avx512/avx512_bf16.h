// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "evenkeel/kernels/cpu/avx512/avx512_target.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

inline constexpr double kLog2OfE = 1.4426950408889634;

}  // namespace evenkeel::kernels::cpu

/// Vectors of sixteen float32 for processors with AVX-512, and of 32 bfloat16 or sixteen pairs of
/// these where there is bfloat16, with or without AMX.
namespace evenkeel::kernels::cpu::avx512 {

/// The mask of the first `count` of 16 or 32 lanes; no lane if count < 0.
inline __mmask16 tail_mask_16(std::int64_t count) {
  const unsigned mask = count >= 16 ? 0xffffU : count <= 0 ? 0U : (1U << count) - 1;
  return static_cast<__mmask16>(mask);
}
inline __mmask32 tail_mask_32(std::int64_t count) {
  return count >= 32 ? 0xffffffff : count <= 0 ? 0 : static_cast<__mmask32>((1ULL << count) - 1);
}

/// The mask of all lanes, as a type of its own: an unmasked load is cheaper than one with a mask.
struct AllLanes {};

/// 2^x for x below 128, to 2.2 units in the last place; 2^0 is exactly 1. Subnormal results become
/// 0, because arithmetic with subnormal numbers takes a hundred cycles. NaN gives NaN.
EK_AVX512_INLINE __m512 exp2_ps(__m512 x) {
  const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126), _CMP_NLT_UQ);
  constexpr int kBelow = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
  const __m512 f = _mm512_reduce_ps(x, kBelow);  // x - floor(x)
  // Minimax polynomial of degree 5 for 0 <= f < 1, equal to 1 at 0; relative error 8.8e-8.
  __m512 p = _mm512_set1_ps(0x1.e9749ap-10F);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.27786ep-7F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.c91ce2p-5F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.ebdb58p-3F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0x1.62e4bap-1F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1));
  return _mm512_maskz_scalef_ps(normal, p, x);  // p * 2^floor(x)
}

/// e^(-2|x|)
EK_AVX512_INLINE __m512 tanh_exponential(__m512 x) {
  return exp2_ps(
      _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(static_cast<float>(-2 * kLog2OfE))));
}

/// tanh(x): no cancellation near 0.
/// \param e  tanh_exponential(x)
EK_AVX512_INLINE __m512 tanh_ps(__m512 x, __m512 e) {
  const __m512 size = _mm512_abs_ps(x);
  const __m512 square = _mm512_mul_ps(size, size);
  __m512 series = _mm512_set1_ps(62.F / 2835);
  series = _mm512_fmadd_ps(series, square, _mm512_set1_ps(-17.F / 315));
  series = _mm512_fmadd_ps(series, square, _mm512_set1_ps(2.F / 15));
  series = _mm512_fmadd_ps(series, square, _mm512_set1_ps(-1.F / 3));
  const __m512 near = _mm512_fmadd_ps(_mm512_mul_ps(series, square), size, size);
  const __m512 one = _mm512_set1_ps(1);
  const __m512 far = _mm512_div_ps(_mm512_sub_ps(one, e), _mm512_add_ps(one, e));
  const __mmask16 is_near = _mm512_cmp_ps_mask(size, _mm512_set1_ps(0.2F), _CMP_LT_OQ);
  const __m512 y = _mm512_mask_blend_ps(is_near, far, near);
  const __m512 sign = _mm512_and_ps(x, _mm512_set1_ps(-0.0F));
  return _mm512_or_ps(y, sign);
}
EK_AVX512_INLINE __m512 tanh_ps(__m512 x) {
  return tanh_ps(x, tanh_exponential(x));
}

/// Stores 32 values, rounded to nearest.
EK_AVX512_BF16_INLINE void store_32(Bf16* to, __m512 low, __m512 high) {
  _mm512_storeu_si512(to, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}
/// Lanes with subnormal values, which rounding to bfloat16 makes 0.
EK_AVX512_INLINE __mmask16 subnormal_mask(__m512 values) {
  constexpr int kBelowNormal = 0x20;
  return _mm512_fpclass_ps_mask(values, kBelowNormal);
}
/// Stores the lanes of `mask`.
EK_AVX512_BF16_INLINE void store_16(Bf16* to, __m512 values, __mmask16 mask) {
  _mm256_mask_storeu_epi16(to, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
}
EK_AVX512_BF16_INLINE void store_16(Bf16* to, __m512 values, AllLanes /*all*/ = {}) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
}
/// Rounds sixteen values to bfloat16, subnormal ones, too: the instruction alone makes them 0.
EK_AVX512_BF16_INLINE __m256i rounded_16(__m512 values) {
  const auto rounded = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values));
  const __mmask16 subnormal = subnormal_mask(values);
  if (subnormal == 0) return rounded;
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i is_odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i half = _mm512_add_epi32(is_odd, _mm512_set1_epi32(0x7fff));
  const __m512i exact = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
  return _mm256_mask_mov_epi16(rounded, subnormal, _mm512_cvtepi32_epi16(exact));
}
/// Stores the lanes of `mask`, rounded_16().
EK_AVX512_BF16_INLINE void store_rounded_16(Bf16* to, __m512 values, __mmask16 mask) {
  _mm256_mask_storeu_epi16(to, mask, rounded_16(values));
}
EK_AVX512_BF16_INLINE void store_rounded_16(Bf16* to, __m512 values, AllLanes /*all*/ = {}) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), rounded_16(values));
}
EK_AVX512_INLINE void store_16(float* to, __m512 values) {
  _mm512_storeu_ps(to, values);
}
/// Converts sixteen bfloat16 to float32.
EK_AVX512_INLINE __m512 to_floats(__m256i values) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
}
/// Loads the lanes of `mask`, zeros elsewhere.
EK_AVX512_INLINE __m512 load_16(const Bf16* from, __mmask16 mask) {
  return to_floats(_mm256_maskz_loadu_epi16(mask, from));
}
EK_AVX512_INLINE __m512 load_16(const Bf16* from, AllLanes /*all*/ = {}) {
  return to_floats(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}

/// Loads 32 bfloat16, unconverted; the lanes outside `mask` become zero.
EK_AVX512_BF16_INLINE __m512bh load_32(const Bf16* from, __mmask32 mask) {
  return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(mask, from));
}
EK_AVX512_BF16_INLINE __m512bh load_32(const Bf16* from) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}
/// Loads the float32 lanes of `mask`, zeros elsewhere.
EK_AVX512_INLINE __m512 load_16(const float* from, __mmask16 mask) {
  return _mm512_maskz_loadu_ps(mask, from);
}
EK_AVX512_INLINE __m512 load_16(const float* from, AllLanes /*all*/ = {}) {
  return _mm512_loadu_ps(from);
}

/// max(|a|, |b|) in each lane; if one of them is NaN, the other.
EK_AVX512_INLINE __m512 max_abs(__m512 a, __m512 b) {
  constexpr int kLargestSize = 3, kNoSign = 2 << 2;
  return _mm512_range_ps(a, b, kLargestSize | kNoSign);
}

/// True if the largest of the non-negative values is in the safe range of float32 (row_common.h).
EK_AVX512_INLINE bool max_fits_float32(__m512 values) {
  const __m512 least = _mm512_set1_ps(static_cast<float>(1 / kFloat32SafeMagnitude));
  const __m512 most = _mm512_set1_ps(static_cast<float>(kFloat32SafeMagnitude));
  return _mm512_cmp_ps_mask(values, least, _CMP_GT_OQ) != 0 &&
         _mm512_cmp_ps_mask(values, most, _CMP_NLT_UQ) == 0;
}

/// The lanes whose values are in the safe range of float32.
EK_AVX512_INLINE __mmask8 fits_float32_mask(__m256d values) {
  const __mmask8 is_large =
      _mm256_cmp_pd_mask(values, _mm256_set1_pd(1 / kFloat32SafeMagnitude), _CMP_GT_OQ);
  return _mm256_mask_cmp_pd_mask(is_large, values, _mm256_set1_pd(kFloat32SafeMagnitude),
                                 _CMP_LT_OQ);
}

/// Sixteen doubles.
struct DoubleVec16 {
  __m512d low, high;
};
EK_AVX512_INLINE DoubleVec16 zero_doubles() {
  return {_mm512_setzero_pd(), _mm512_setzero_pd()};
}
/// Converts float32 to double, exactly.
EK_AVX512_INLINE DoubleVec16 to_doubles(__m512 values) {
  return {_mm512_cvtps_pd(_mm512_castps512_ps256(values)),
          _mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1))};
}
EK_AVX512_INLINE DoubleVec16 add(const DoubleVec16& a, const DoubleVec16& b) {
  return {_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)};
}
EK_AVX512_INLINE DoubleVec16 add_squares(const DoubleVec16& a, const DoubleVec16& b) {
  return {_mm512_fmadd_pd(b.low, b.low, a.low), _mm512_fmadd_pd(b.high, b.high, a.high)};
}
EK_AVX512_INLINE DoubleVec16 add_products(const DoubleVec16& a, const DoubleVec16& b,
                                          const DoubleVec16& c) {
  return {_mm512_fmadd_pd(b.low, c.low, a.low), _mm512_fmadd_pd(b.high, c.high, a.high)};
}
/// The sum of all lanes, in the order of sum_over() (row_reduction.h).
EK_AVX512_INLINE double reduce_add(const DoubleVec16& a) {
  return _mm512_reduce_add_pd(_mm512_add_pd(a.low, a.high));
}
/// to[0, 16) += values, for the lanes of mask.
EK_AVX512_INLINE void add_16(double* to, const DoubleVec16& values, __mmask16 mask) {
  const auto low = static_cast<__mmask8>(mask), high = static_cast<__mmask8>(mask >> 8);
  const auto sum =
      add(values, {_mm512_maskz_loadu_pd(low, to), _mm512_maskz_loadu_pd(high, to + 8)});
  _mm512_mask_storeu_pd(to, low, sum.low);
  _mm512_mask_storeu_pd(to + 8, high, sum.high);
}
EK_AVX512_INLINE void add_16(double* to, const DoubleVec16& values, AllLanes /*all*/ = {}) {
  const auto sum = add(values, {_mm512_loadu_pd(to), _mm512_loadu_pd(to + 8)});
  _mm512_storeu_pd(to, sum.low);
  _mm512_storeu_pd(to + 8, sum.high);
}
template <typename Mask = AllLanes>
EK_AVX512_INLINE void add_16(double* to, __m512 values, Mask mask = {}) {
  add_16(to, to_doubles(values), mask);
}

/// Interleaves a and b and stores 32 pairs (a_i, b_i): the first sixteen at `low`, the second
/// sixteen at `high`.
EK_AVX512_INLINE void store_pairs(std::uint32_t* low, std::uint32_t* high, __m512i a, __m512i b) {
  // Interleaved within each quarter of a vector first: two cheap instructions and two permutations.
  const __m512i even = _mm512_unpacklo_epi16(a, b);  // pairs 0-3, 8-11, 16-19, 24-27
  const __m512i odd = _mm512_unpackhi_epi16(a, b);   // pairs 4-7, 12-15, 20-23, 28-31
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  _mm512_storeu_si512(low, _mm512_permutex2var_epi64(even, first, odd));
  _mm512_storeu_si512(high, _mm512_permutex2var_epi64(even, second, odd));
}

/// Transposes sixteen rows of sixteen 32-bit words.
EK_AVX512_INLINE void transpose(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // r[4 g + c] holds column 4 q + c of rows 4 g to 4 g + 3 in its quarter q.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i a = _mm512_shuffle_i32x4(r[c], r[c + 4], 0x88);  // quarters 0, 2 of groups 0, 1
    const __m512i b = _mm512_shuffle_i32x4(r[c + 8], r[c + 12], 0x88);  // of groups 2, 3
    const __m512i d = _mm512_shuffle_i32x4(r[c], r[c + 4], 0xdd);       // quarters 1, 3
    const __m512i e = _mm512_shuffle_i32x4(r[c + 8], r[c + 12], 0xdd);
    t[c] = _mm512_shuffle_i32x4(a, b, 0x88);
    t[c + 8] = _mm512_shuffle_i32x4(a, b, 0xdd);
    t[c + 4] = _mm512_shuffle_i32x4(d, e, 0x88);
    t[c + 12] = _mm512_shuffle_i32x4(d, e, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

}  // namespace evenkeel::kernels::cpu::avx512
