// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"

/// A head of attention in vectors of sixteen float32, and its rotation.
namespace evenkeel::kernels::cpu::avx512 {

inline constexpr int kMaxVectors = 16;  // in a head

/// A head in kCount vectors, all of them full.
template <int kCount>
struct HeadVectors {
  __m512 v[kCount];
};

/// \tparam T  Bf16 or float
template <int kCount, typename T>
EK_AVX512_INLINE HeadVectors<kCount> load(const T* from) {
  HeadVectors<kCount> z;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) z.v[j] = load_16(from + 16 * j);
  return z;
}

template <int kCount>
EK_AVX512_INLINE void store(float* to, const HeadVectors<kCount>& z) {
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) store_16(to + 16 * j, z.v[j]);
}
template <int kCount>
EK_AVX512_BF16_INLINE void store(Bf16* to, const HeadVectors<kCount>& z) {
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) store_16(to + 16 * j, z.v[j]);
}

template <int kCount>
EK_AVX512_INLINE HeadVectors<kCount> times(const HeadVectors<kCount>& z,
                                           const HeadVectors<kCount>& other) {
  HeadVectors<kCount> out;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) out.v[j] = _mm512_mul_ps(z.v[j], other.v[j]);
  return out;
}

template <int kCount>
EK_AVX512_INLINE HeadVectors<kCount> times(const HeadVectors<kCount>& z, __m512 factor) {
  HeadVectors<kCount> out;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) out.v[j] = _mm512_mul_ps(z.v[j], factor);
  return out;
}

/// The head with its halves exchanged: the second value of each rotated pair (rotate_half of
/// Hugging Face, without the sign).
template <int kCount>
EK_AVX512_INLINE HeadVectors<kCount> swapped_halves(const HeadVectors<kCount>& z) {
  HeadVectors<kCount> out;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) {
    const __m512 first = z.v[(j + kCount / 2) % kCount];
    if constexpr (kCount % 2 == 0) {
      out.v[j] = first;
    } else {
      constexpr int kHighThenLow = 0x4e;
      const __m512 second = z.v[(j + kCount / 2 + 1) % kCount];
      out.v[j] = _mm512_shuffle_f32x4(first, second, kHighThenLow);
    }
  }
  return out;
}

/// A rotation: z * cosine + swapped_halves(z) * sine.
template <int kCount>
struct CosSin {
  HeadVectors<kCount> cosine, sine;
};

/// Joins two half vectors in a register. A load of the whole vector from memory would wait for two
/// stores before it.
EK_AVX512_INLINE __m512 concatenated(__m256 low, __m256 high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/// \param cos_sin       [2, width / 2]: cosines, then sines
/// \param direction     1, or -1 for the inverse rotation
template <int kCount>
EK_AVX512_INLINE CosSin<kCount> cos_sin_of(const float* cos_sin, float direction) {
  const __m256 plus = _mm256_set1_ps(direction), minus = _mm256_set1_ps(-direction);
  const float* const sines = cos_sin + 8 * kCount;
  CosSin<kCount> rotation;
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j) {
    const int low = 2 * j, high = low + 1;  // eighths of a vector; kCount of them are half a head
    const __m256 sine[2] = {_mm256_loadu_ps(sines + 8 * (low % kCount)),
                            _mm256_loadu_ps(sines + 8 * (high % kCount))};
    rotation.cosine.v[j] = concatenated(_mm256_loadu_ps(cos_sin + 8 * (low % kCount)),
                                        _mm256_loadu_ps(cos_sin + 8 * (high % kCount)));
    rotation.sine.v[j] = concatenated(_mm256_mul_ps(sine[0], low < kCount ? minus : plus),
                                      _mm256_mul_ps(sine[1], high < kCount ? minus : plus));
  }
  return rotation;
}

template <int kCount>
EK_AVX512_INLINE HeadVectors<kCount> rotated(const HeadVectors<kCount>& z,
                                             const CosSin<kCount>& rotation) {
  auto out = times(swapped_halves(z), rotation.sine);
#pragma GCC unroll 16
  for (int j = 0; j < kCount; ++j)
    out.v[j] = _mm512_fmadd_ps(z.v[j], rotation.cosine.v[j], out.v[j]);
  return out;
}

/// Heads whose square roots are computed at once.
inline constexpr int kHeadsAtOnce = 4;

/// Stores the first `count` of four, without a mask: a load would wait for a masked store.
EK_AVX512_INLINE void store_first(double* to, __m256d values, std::int64_t count) {
  if (count >= kHeadsAtOnce) return _mm256_storeu_pd(to, values);
  const __m128d low = _mm256_castpd256_pd128(values);
  if (count == 1) return _mm_store_sd(to, low);
  _mm_storeu_pd(to, low);
  if (count == 3) _mm_store_sd(to + 2, _mm256_extractf128_pd(values, 1));
}

/// run(the number of vectors of a head, as a constant) for heads of exactly 16 k values, k at most
/// kCount; false for others.
template <int kCount, typename Run>
bool with_vectors(std::int64_t width, const Run& run) {
  if constexpr (kCount > 0) {
    if (width == 16 * kCount) return run(std::integral_constant<int, kCount>());
    return with_vectors<kCount - 1>(width, run);
  }
  return false;
}

}  // namespace evenkeel::kernels::cpu::avx512
