// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"
#include "evenkeel/kernels/cpu/avx512/head_vectors.h"
#include "evenkeel/kernels/cpu/avx512/qkv_norm_rope_avx512.h"

/// Heads of float32, with the bits of norm_rope() and norm_rope_backward(): the same sums in the
/// same order (row_reduction.h, norm_backward_float32.h), the same roundings and fused
/// multiply-adds.
namespace evenkeel::kernels::cpu {

namespace {

using avx512::DoubleVec16;
using avx512::kHeadsAtOnce;

/// Sixteen partial sums of x^2 over a head.
template <int kCount>
EK_AVX512_INLINE DoubleVec16 double_squares_of(const float* x) {
  auto sum = avx512::zero_doubles();
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) {
    prefetch_ahead(x + 16 * j);
    sum = avx512::add_squares(sum, avx512::to_doubles(avx512::load_16(x + 16 * j)));
  }
  return sum;
}

constexpr int kLows = 0x20, kHighs = 0x31;  // the low, or the high, halves of two vectors

/// The sum of all lanes of each of four vectors, as horizontal_sum() (row_reduction.h).
EK_AVX512_INLINE __m256d tree_sums_of(const DoubleVec16 (&r)[kHeadsAtOnce]) {
  __m256d quarter[kHeadsAtOnce];
#pragma GCC unroll 4
  for (int h = 0; h < kHeadsAtOnce; ++h) {
    const __m512d half = _mm512_add_pd(r[h].low, r[h].high);
    quarter[h] = _mm256_add_pd(_mm512_castpd512_pd256(half), _mm512_extractf64x4_pd(half, 1));
  }
  const __m256d ab = _mm256_add_pd(_mm256_permute2f128_pd(quarter[0], quarter[1], kLows),
                                   _mm256_permute2f128_pd(quarter[0], quarter[1], kHighs));
  const __m256d cd = _mm256_add_pd(_mm256_permute2f128_pd(quarter[2], quarter[3], kLows),
                                   _mm256_permute2f128_pd(quarter[2], quarter[3], kHighs));
  constexpr int kInOrder = 0xd8;  // of a, c, b, d
  return _mm256_permute4x64_pd(_mm256_hadd_pd(ab, cd), kInOrder);
}
EK_AVX512_INLINE __m128 tree_sums_of(const __m512 (&r)[kHeadsAtOnce]) {
  __m256 half[kHeadsAtOnce];
#pragma GCC unroll 4
  for (int h = 0; h < kHeadsAtOnce; ++h)
    half[h] = _mm256_add_ps(_mm512_castps512_ps256(r[h]), _mm512_extractf32x8_ps(r[h], 1));
  const __m256d ab =
      _mm256_castps_pd(_mm256_add_ps(_mm256_permute2f128_ps(half[0], half[1], kLows),
                                     _mm256_permute2f128_ps(half[0], half[1], kHighs)));
  const __m256d cd =
      _mm256_castps_pd(_mm256_add_ps(_mm256_permute2f128_ps(half[2], half[3], kLows),
                                     _mm256_permute2f128_ps(half[2], half[3], kHighs)));
  const __m256 pairs = _mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(ab, cd)),
                                     _mm256_castpd_ps(_mm256_unpackhi_pd(ab, cd)));
  const __m256 all = _mm256_hadd_ps(pairs, pairs);  // a, c, a, c, b, d, b, d
  return _mm_unpacklo_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

/// rstd of all heads. \return false if one is outside the safe range of float32
template <int kCount>
EK_AVX512_INLINE bool compute_rstd(const Heads<float>& heads) {
  const __m256d width = _mm256_set1_pd(static_cast<double>(heads.width));
  const __m256d epsilon = _mm256_set1_pd(heads.epsilon);
  for (std::int64_t first = 0; first < heads.count; first += kHeadsAtOnce) {
    const auto count = std::min<std::int64_t>(kHeadsAtOnce, heads.count - first);
    DoubleVec16 partial[kHeadsAtOnce];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < kHeadsAtOnce; ++r) {
      partial[r] =
          double_squares_of<kCount>(heads.x + (first + std::min(r, count - 1)) * heads.width);
    }
    const __m256d mean = _mm256_div_pd(tree_sums_of(partial), width);
    const __m256d rstd =
        _mm256_div_pd(_mm256_set1_pd(1), _mm256_sqrt_pd(_mm256_add_pd(mean, epsilon)));
    avx512::store_first(heads.rstd + first, rstd, count);
    if (avx512::fits_float32_mask(rstd) != (1 << kHeadsAtOnce) - 1) return false;
  }
  return true;
}

template <int kCount, bool kNorm, bool kRotate>
EK_AVX512 bool forward_in_float32(const Heads<float>& heads) {
  avx512::HeadVectors<kCount> gain;
  avx512::CosSin<kCount> cos_sin;
  if constexpr (kRotate) cos_sin = avx512::cos_sin_of<kCount>(heads.cos_sin, 1);
  if constexpr (kNorm) {
    if (!compute_rstd<kCount>(heads)) return false;
    gain = avx512::load<kCount>(heads.gain);
  }
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const auto offset = h * heads.width;
    auto z = avx512::load<kCount>(heads.x + offset);
    if constexpr (kNorm) {
      const __m512 factor = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
      z = avx512::times(avx512::times(z, factor), gain);
    }
    if constexpr (kRotate) z = avx512::rotated(z, cos_sin);
    avx512::store(heads.y + offset, z);
  }
  return true;
}

/// The gradient before the rotation, and x_hat.
template <int kCount>
struct HeadTerms {
  avx512::HeadVectors<kCount> g, x_hat;
};
template <int kCount, bool kRotate>
EK_AVX512_INLINE HeadTerms<kCount> terms_of(const HeadsGradient<float>& heads, std::int64_t h,
                                            const avx512::CosSin<kCount>& cos_sin) {
  const auto offset = h * heads.width;
  const __m512 rstd = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
  HeadTerms<kCount> terms = {avx512::load<kCount>(heads.dy + offset),
                             avx512::times(avx512::load<kCount>(heads.x + offset), rstd)};
  if constexpr (kRotate) terms.g = avx512::rotated(terms.g, cos_sin);
  return terms;
}

/// Four lanes each: mean(g * gain * x_hat) of four heads, and the heads that float32 is safe for.
struct Slopes {
  __m256d mean;
  __mmask8 safe;
};
/// is_safe_in_float32() (norm_backward_float32.h) of four heads.
/// \param dot, squares  sums of g * gain * x_hat, and of (g * gain)^2
EK_AVX512_INLINE Slopes slopes_of(__m256d dot, __m256d squares, __m256d rstd, std::int64_t width) {
  const __m256d features = _mm256_set1_pd(static_cast<double>(width));
  const __m256d size = _mm256_sqrt_pd(_mm256_div_pd(squares, features));
  const __m256d absolute = _mm256_andnot_pd(_mm256_set1_pd(-0.0), dot);
  const __m256d removed = _mm256_div_pd(_mm256_mul_pd(dot, dot), features);
  const auto kept = _mm256_cmp_pd_mask(_mm256_sub_pd(squares, removed),
                                       _mm256_mul_pd(squares, _mm256_set1_pd(0.25)), _CMP_GE_OQ);
  const unsigned safe = kept & avx512::fits_float32_mask(rstd) & avx512::fits_float32_mask(size) &
                        avx512::fits_float32_mask(_mm256_mul_pd(size, rstd)) &
                        avx512::fits_float32_mask(_mm256_div_pd(absolute, size));
  return {_mm256_div_pd(dot, features), static_cast<__mmask8>(safe)};
}

/// The slopes of the four heads from `first` on; a head beyond the end is the last one.
template <int kCount, bool kRotate>
EK_AVX512_INLINE Slopes slopes_of_heads(const HeadsGradient<float>& heads, std::int64_t first,
                                        const avx512::HeadVectors<kCount>& gain,
                                        const avx512::CosSin<kCount>& cos_sin) {
  __m512 dot[kHeadsAtOnce], squares[kHeadsAtOnce];
  double rstd[kHeadsAtOnce];
#pragma GCC unroll 4
  for (std::int64_t r = 0; r < kHeadsAtOnce; ++r) {
    const auto h = std::min(first + r, heads.count - 1);
    const auto terms = terms_of<kCount, kRotate>(heads, h, cos_sin);
    dot[r] = squares[r] = _mm512_setzero_ps();
#pragma GCC unroll 16
    for (int j = 0; j < kCount; ++j) {
      prefetch_ahead(heads.dy + h * heads.width + 16 * j);
      prefetch_ahead(heads.x + h * heads.width + 16 * j);
      const __m512 through = _mm512_mul_ps(terms.g.v[j], gain.v[j]);
      dot[r] = _mm512_fmadd_ps(through, terms.x_hat.v[j], dot[r]);
      squares[r] = _mm512_fmadd_ps(through, through, squares[r]);
    }
    rstd[r] = heads.rstd[h];
  }
  return slopes_of(_mm256_cvtps_pd(tree_sums_of(dot)), _mm256_cvtps_pd(tree_sums_of(squares)),
                   _mm256_loadu_pd(rstd), heads.width);
}

template <int kCount, bool kRotate>
EK_AVX512 bool backward_in_float32(const HeadsGradient<float>& heads) {
  avx512::CosSin<kCount> cos_sin;
  if constexpr (kRotate) cos_sin = avx512::cos_sin_of<kCount>(heads.cos_sin, -1);
  const auto gain = avx512::load<kCount>(heads.gain);
  avx512::HeadVectors<kCount> dgain = {};
  for (std::int64_t first = 0; first < heads.count; first += kHeadsAtOnce) {
    const auto slopes = slopes_of_heads<kCount, kRotate>(heads, first, gain, cos_sin);
    if (slopes.safe != (1 << kHeadsAtOnce) - 1) return false;
    float means[kHeadsAtOnce];
    _mm_storeu_ps(means, _mm256_cvtpd_ps(slopes.mean));
    const auto end = std::min(first + kHeadsAtOnce, heads.count);
    for (auto h = first; h < end; ++h) {
      const auto terms = terms_of<kCount, kRotate>(heads, h, cos_sin);
      const __m512 mean = _mm512_set1_ps(means[h - first]);
      const __m512 rstd = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
      avx512::HeadVectors<kCount> dx;
#pragma GCC unroll 16
      for (int j = 0; j < kCount; ++j) {
        dgain.v[j] = _mm512_fmadd_ps(terms.g.v[j], terms.x_hat.v[j], dgain.v[j]);
        const __m512 along = _mm512_mul_ps(terms.x_hat.v[j], mean);
        dx.v[j] = _mm512_mul_ps(rstd, _mm512_fmsub_ps(terms.g.v[j], gain.v[j], along));
      }
      avx512::store(heads.dx + h * heads.width, dx);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) avx512::add_16(heads.dgain + 16 * j, dgain.v[j]);
  return true;
}

template <int kCount>
bool dispatch_flags(const Heads<float>& heads) {
  if (heads.gain == nullptr)
    return heads.cos_sin != nullptr && forward_in_float32<kCount, false, true>(heads);
  if (heads.cos_sin == nullptr) return forward_in_float32<kCount, true, false>(heads);
  return forward_in_float32<kCount, true, true>(heads);
}

template <int kCount>
bool dispatch_flags(const HeadsGradient<float>& heads) {
  if (heads.gain == nullptr) return false;
  if (heads.cos_sin == nullptr) return backward_in_float32<kCount, false>(heads);
  return backward_in_float32<kCount, true>(heads);
}

}  // namespace

bool norm_rope_avx512(const Heads<float>& heads) {
  return has_avx512() && avx512::with_vectors<avx512::kMaxVectors>(
                             heads.width, [&](auto count) { return dispatch_flags<count>(heads); });
}

bool norm_rope_backward_avx512(const HeadsGradient<float>& heads) {
  return has_avx512() && avx512::with_vectors<avx512::kMaxVectors>(
                             heads.width, [&](auto count) { return dispatch_flags<count>(heads); });
}

}  // namespace evenkeel::kernels::cpu
