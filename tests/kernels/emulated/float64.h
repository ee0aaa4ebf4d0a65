// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "kernels/emulated/vectors.h"

/// Vectors of float64.

inline __m512d _mm512_setzero_pd() {
  return __m512d{};
}
inline __m512d _mm512_loadu_pd(const double* from) {
  return emulated::load<__m512d>(from);
}
inline __m512d _mm512_maskz_loadu_pd(__mmask8 mask, const double* from) {
  return emulated::load_some<double, __m512d>(mask, from);
}
inline void _mm512_storeu_pd(double* to, __m512d x) {
  emulated::store(to, x);
}
inline void _mm512_mask_storeu_pd(double* to, __mmask8 mask, __m512d x) {
  emulated::store_some<double>(to, mask, x);
}
inline __m512d _mm512_add_pd(__m512d a, __m512d b) {
  return a + b;
}
inline __m512d _mm512_fmadd_pd(__m512d a, __m512d b, __m512d c) {
  return emulated::of_lanes<double, __m512d>([&](int i) { return std::fma(a[i], b[i], c[i]); });
}
inline __m512d _mm512_cvtps_pd(__m256 x) {
  return emulated::of_lanes<double, __m512d>([&](int i) { return static_cast<double>(x[i]); });
}
inline __m256 _mm512_cvtpd_ps(__m512d x) {
  return emulated::of_lanes<float, __m256>([&](int i) { return static_cast<float>(x[i]); });
}
inline double _mm512_reduce_add_pd(__m512d x) {
  return emulated::sum_of<double>(x);
}
inline __m512d _mm512_castps_pd(__m512 x) {
  return emulated::load<__m512d>(&x);
}
inline __m512 _mm512_castpd_ps(__m512d x) {
  return emulated::load<__m512>(&x);
}
inline __m256d _mm512_castpd512_pd256(__m512d x) {
  return emulated::load<__m256d>(&x);
}
inline __m256d _mm512_extractf64x4_pd(__m512d x, int which) {
  return emulated::lanes<__m256d>(x).of[which];
}
inline __m512d _mm512_unpacklo_pd(__m512d a, __m512d b) {
  return emulated::unpack<double>(a, b, false);
}
inline __m512d _mm512_unpackhi_pd(__m512d a, __m512d b) {
  return emulated::unpack<double>(a, b, true);
}

inline __m256d _mm256_set1_pd(double x) {
  return emulated::of_lanes<double, __m256d>([&](int) { return x; });
}
inline __m256d _mm256_cvtps_pd(__m128 x) {
  return emulated::of_lanes<double, __m256d>([&](int i) { return static_cast<double>(x[i]); });
}
inline __m256d _mm256_div_pd(__m256d a, __m256d b) {
  return a / b;
}
inline __m256d _mm256_fmadd_pd(__m256d a, __m256d b, __m256d c) {
  return emulated::of_lanes<double, __m256d>([&](int i) { return std::fma(a[i], b[i], c[i]); });
}
inline __m256d _mm256_sqrt_pd(__m256d x) {
  return emulated::of_lanes<double, __m256d>([&](int i) { return std::sqrt(x[i]); });
}
inline __mmask8 _mm256_cmp_pd_mask(__m256d a, __m256d b, int how) {
  return emulated::mask_of_comparison<__mmask8>(a, b, how);
}
inline __mmask8 _mm256_mask_cmp_pd_mask(__mmask8 mask, __m256d a, __m256d b, int how) {
  return mask & _mm256_cmp_pd_mask(a, b, how);
}
inline __m256d _mm256_loadu_pd(const double* from) {
  return emulated::load<__m256d>(from);
}
inline void _mm256_storeu_pd(double* to, __m256d x) {
  emulated::store(to, x);
}
inline __m256d _mm256_add_pd(__m256d a, __m256d b) {
  return a + b;
}
inline __m256d _mm256_sub_pd(__m256d a, __m256d b) {
  return a - b;
}
inline __m256d _mm256_mul_pd(__m256d a, __m256d b) {
  return a * b;
}
inline __m256d _mm256_andnot_pd(__m256d a, __m256d b) {
  const auto first = emulated::lanes<std::uint64_t>(a), second = emulated::lanes<std::uint64_t>(b);
  return emulated::of_lanes<std::uint64_t, __m256d>(
      [&](int i) { return ~first.of[i] & second.of[i]; });
}
inline __m128 _mm256_cvtpd_ps(__m256d x) {
  return emulated::of_lanes<float, __m128>([&](int i) { return static_cast<float>(x[i]); });
}
inline __m256d _mm256_castps_pd(__m256 x) {
  return emulated::load<__m256d>(&x);
}
inline __m256 _mm256_castpd_ps(__m256d x) {
  return emulated::load<__m256>(&x);
}
inline __m128d _mm256_castpd256_pd128(__m256d x) {
  return emulated::load<__m128d>(&x);
}
inline __m128d _mm256_extractf128_pd(__m256d x, int which) {
  return emulated::lanes<__m128d>(x).of[which];
}
inline __m256d _mm256_unpacklo_pd(__m256d a, __m256d b) {
  return emulated::unpack<double>(a, b, false);
}
inline __m256d _mm256_unpackhi_pd(__m256d a, __m256d b) {
  return emulated::unpack<double>(a, b, true);
}
inline __m256d _mm256_hadd_pd(__m256d a, __m256d b) {
  return emulated::neighbour_sums<double>(a, b);
}
inline __m256d _mm256_permute2f128_pd(__m256d a, __m256d b, int which) {
  return emulated::two_quarters(a, b, which);
}
inline __m256d _mm256_permute4x64_pd(__m256d x, int which) {
  return emulated::of_lanes<double, __m256d>([&](int i) { return x[which >> 2 * i & 3]; });
}
