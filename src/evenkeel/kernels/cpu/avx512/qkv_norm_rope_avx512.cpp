// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/qkv_norm_rope_avx512.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"
#include "evenkeel/kernels/cpu/avx512/head_vectors.h"

namespace evenkeel::kernels::cpu {

namespace {

using avx512::CosSin;
using avx512::HeadVectors;
using avx512::kHeadsAtOnce;

/// True if a value is subnormal, which the rounding instruction would make 0. Normed heads need no
/// such check: their largest result is in the safe range of float32, and values that become 0 are
/// at most 2^-60 of it.
template <int kCount>
EK_AVX512_BF16_INLINE bool has_subnormal(const HeadVectors<kCount>& z) {
  unsigned subnormal = 0;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) subnormal |= avx512::subnormal_mask(z.v[j]);
  return subnormal != 0;
}

/// Sixteen partial maxima of |z| over a head.
template <int kCount>
EK_AVX512_BF16_INLINE __m512 largest_of(const HeadVectors<kCount>& z) {
  __m512 largest = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) largest = avx512::max_abs(largest, z.v[j]);
  return largest;
}

/// The sum of the lanes of each of four vectors.
EK_AVX512_BF16_INLINE __m128 sums_of(const __m512 (&r)[kHeadsAtOnce]) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 all = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/// Prefetches a head that is processed a few heads later.
template <int kCount>
EK_AVX512_BF16_INLINE void prefetch_head(const Bf16* head) {
#pragma GCC unroll 8
  for (int j = 0; j < kCount; j += 2) prefetch_ahead(head + 16 * j);
}

/// Sixteen partial sums of x^2 over a head.
template <int kCount>
EK_AVX512_BF16_INLINE __m512 squares_of(const Bf16* x) {
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 8
  for (int j = 0; j < kCount / 2; ++j) {
    const __m512bh value = avx512::load_32(x + 32 * j);
    sum = _mm512_dpbf16_ps(sum, value, value);
  }
  if constexpr (kCount % 2 == 1) {
    const __m512bh last = avx512::load_32(x + 16 * (kCount - 1), avx512::tail_mask_32(16));
    sum = _mm512_dpbf16_ps(sum, last, last);
  }
  return sum;
}

/// Computes rstd of all heads before the heads themselves, so that no head waits for its square
/// root.
/// \return false if a value is outside the safe range of float32
template <int kCount>
EK_AVX512_BF16_INLINE bool compute_rstd(const Heads<Bf16>& heads) {
  const __m256d share = _mm256_set1_pd(1 / static_cast<double>(heads.width));
  const __m256d epsilon = _mm256_set1_pd(heads.epsilon);
  for (std::int64_t first = 0; first < heads.count; first += kHeadsAtOnce) {
    const auto count = std::min<std::int64_t>(kHeadsAtOnce, heads.count - first);
    __m512 partial[kHeadsAtOnce];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < kHeadsAtOnce; ++r) {
      const Bf16* const x = heads.x + (first + std::min(r, count - 1)) * heads.width;
      prefetch_head<kCount>(x);
      partial[r] = squares_of<kCount>(x);
    }
    const __m256d squares = _mm256_cvtps_pd(sums_of(partial));
    const __m256d root = _mm256_sqrt_pd(_mm256_fmadd_pd(squares, share, epsilon));
    const __m256d rstd = _mm256_div_pd(_mm256_set1_pd(1), root);
    avx512::store_first(heads.rstd + first, rstd, count);
    if ((avx512::fits_float32_mask(squares) & avx512::fits_float32_mask(rstd)) !=
        (1 << kHeadsAtOnce) - 1)
      return false;
  }
  return true;
}

/// The factors that apply gain and rotation together:
/// avx512::rotated(gain * z) = z * result.cosine + avx512::swapped_halves(z) * result.sine.
template <int kCount>
EK_AVX512_BF16_INLINE CosSin<kCount> with_gain(const HeadVectors<kCount>& gain,
                                               const CosSin<kCount>& rotation) {
  return {avx512::times(gain, rotation.cosine),
          avx512::times(avx512::swapped_halves(gain), rotation.sine)};
}

template <int kCount, bool kNorm, bool kRotate>
EK_AVX512_BF16 bool forward(const Heads<Bf16>& heads) {
  HeadVectors<kCount> gain;
  CosSin<kCount> cos_sin;
  if constexpr (kRotate) cos_sin = avx512::cos_sin_of<kCount>(heads.cos_sin, 1);
  if constexpr (kNorm) {
    gain = avx512::load<kCount>(heads.gain);
    if (!avx512::max_fits_float32(largest_of(gain)) || !compute_rstd<kCount>(heads)) return false;
    if constexpr (kRotate) cos_sin = with_gain(gain, cos_sin);
  }
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const auto offset = h * heads.width;
    if constexpr (!kNorm) prefetch_head<kCount>(heads.x + offset);
    auto z = avx512::load<kCount>(heads.x + offset);
    if constexpr (kRotate) {
      z = avx512::rotated(z, cos_sin);
    } else {
      z = avx512::times(z, gain);
    }
    if constexpr (kNorm) z = avx512::times(z, _mm512_set1_ps(static_cast<float>(heads.rstd[h])));
    avx512::store(heads.y + offset, z);
    if constexpr (!kNorm) {
      if (has_subnormal(z)) return false;
    }
  }
  return true;
}

/// The sum of all lanes, in every lane.
EK_AVX512_BF16_INLINE __m512 broadcast_sum(__m512 v) {
  v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0x4e));
  v = _mm512_add_ps(v, _mm512_shuffle_f32x4(v, v, 0xb1));
  v = _mm512_add_ps(v, _mm512_permute_ps(v, 0x4e));
  return _mm512_add_ps(v, _mm512_permute_ps(v, 0xb1));
}

/// Sixteen partial sums of a * b over a head.
template <int kCount>
EK_AVX512_BF16_INLINE __m512 dot_partials(const HeadVectors<kCount>& a,
                                          const HeadVectors<kCount>& b) {
  __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) sum[j % 2] = _mm512_fmadd_ps(a.v[j], b.v[j], sum[j % 2]);
  return _mm512_add_ps(sum[0], sum[1]);
}

template <int kCount, bool kNorm, bool kRotate>
EK_AVX512_BF16 bool backward(const HeadsGradient<Bf16>& heads) {
  const __m512 share = _mm512_set1_ps(1 / static_cast<float>(heads.width));
  HeadVectors<kCount> gain, dgain = {};
  CosSin<kCount> cos_sin;
  if constexpr (kNorm) gain = avx512::load<kCount>(heads.gain);
  if constexpr (kRotate) cos_sin = avx512::cos_sin_of<kCount>(heads.cos_sin, -1);
  for (std::int64_t h = 0; h < heads.count; ++h) {
    const auto offset = h * heads.width;
    prefetch_head<kCount>(heads.dy + offset);
    if constexpr (kNorm) prefetch_head<kCount>(heads.x + offset);
    auto g = avx512::load<kCount>(heads.dy + offset);
    if constexpr (kRotate) g = avx512::rotated(g, cos_sin);
    if constexpr (!kNorm) {
      avx512::store(heads.dx + offset, g);
      if (has_subnormal(g)) return false;
      continue;
    }
    const __m512 rstd = _mm512_set1_ps(static_cast<float>(heads.rstd[h]));
    const auto x_hat = avx512::times(avx512::load<kCount>(heads.x + offset), rstd);
    const auto slope = avx512::times(g, gain);
    if (!fits_float32(heads.rstd[h])) return false;
    if (!avx512::max_fits_float32(_mm512_mul_ps(largest_of(slope), rstd))) return false;
    const __m512 mean = _mm512_mul_ps(broadcast_sum(dot_partials(slope, x_hat)), share);
    HeadVectors<kCount> dx;
#pragma GCC unroll 16
    for (int j = 0; j < kCount; ++j) {
      dgain.v[j] = _mm512_fmadd_ps(g.v[j], x_hat.v[j], dgain.v[j]);
      dx.v[j] = _mm512_mul_ps(rstd, _mm512_fnmadd_ps(x_hat.v[j], mean, slope.v[j]));
    }
    avx512::store(heads.dx + offset, dx);
  }
  if constexpr (kNorm) {
#pragma GCC unroll 16
    for (int j = 0; j < kCount; ++j) avx512::add_16(heads.dgain + 16 * j, dgain.v[j]);
  }
  return true;
}

template <int kCount>
bool dispatch_flags(const Heads<Bf16>& heads) {
  if (heads.gain == nullptr) return heads.cos_sin != nullptr && forward<kCount, false, true>(heads);
  if (heads.cos_sin == nullptr) return forward<kCount, true, false>(heads);
  return forward<kCount, true, true>(heads);
}

template <int kCount>
bool dispatch_flags(const HeadsGradient<Bf16>& heads) {
  if (heads.gain == nullptr)
    return heads.cos_sin != nullptr && backward<kCount, false, true>(heads);
  if (heads.cos_sin == nullptr) return backward<kCount, true, false>(heads);
  return backward<kCount, true, true>(heads);
}

template <typename Of>
bool dispatch_width(const Of& heads) {
  return avx512::with_vectors<avx512::kMaxVectors>(
      heads.width, [&](auto count) { return dispatch_flags<count>(heads); });
}

}  // namespace

bool norm_rope_avx512(const Heads<Bf16>& heads) {
  return has_avx512_bf16() && dispatch_width(heads);
}

bool norm_rope_backward_avx512(const HeadsGradient<Bf16>& heads) {
  return has_avx512_bf16() && dispatch_width(heads);
}

}  // namespace evenkeel::kernels::cpu
