// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "evenkeel/kernels/cpu/avx512/packed_bf16.h"
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// The running softmax of the queries of two tiles, in vectors of float32; for
/// causal_attention_bf16.h only.
namespace evenkeel::kernels::cpu {

/// The score of a masked pair.
inline constexpr float kMaskedScore = -std::numeric_limits<float>::infinity();

/// The running softmax of kTwoTiles queries, in units of log 2.
struct alignas(64) OnlineSoftmaxBlock {
  float largest[kTwoTiles], total[kTwoTiles];
  EK_AVX512_BF16_INLINE void clear() {
    std::fill_n(largest, kTwoTiles, kMaskedScore);
    std::fill_n(total, kTwoTiles, 0.F);
  }
};

EK_AVX512_BF16_INLINE void scale_row(float* row, std::int64_t count, float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  for (std::int64_t d = 0; d < count; d += 16) {
    _mm512_storeu_ps(row + d, _mm512_mul_ps(_mm512_loadu_ps(row + d), factors));
  }
}

/// softcap tanh(s scale / softcap), in units of log 2.
EK_AVX512_BF16_INLINE void cap_row(float* row, std::int64_t count, const AttentionSizes& sizes) {
  const __m512 inner = _mm512_set1_ps(static_cast<float>(sizes.scale / sizes.softcap));
  const __m512 outer = _mm512_set1_ps(static_cast<float>(sizes.softcap * kLog2OfE));
  for (std::int64_t j = 0; j < count; j += 16) {
    const __m512 x = _mm512_mul_ps(_mm512_loadu_ps(row + j), inner);
    _mm512_storeu_ps(row + j, _mm512_mul_ps(avx512::tanh_ps(x), outer));
  }
}

/// The largest of count values, a multiple of 32.
EK_AVX512_BF16_INLINE float largest_of(const float* scores, std::int64_t count) {
  __m512 most = _mm512_set1_ps(kMaskedScore), other = most;
  for (std::int64_t j = 0; j < count; j += 32) {
    most = _mm512_max_ps(_mm512_loadu_ps(scores + j), most);
    other = _mm512_max_ps(_mm512_loadu_ps(scores + j + 16), other);
  }
  return _mm512_reduce_max_ps(_mm512_max_ps(most, other));
}

/// Turns scores into weights 2^(scores * factor - largest), in the first half of their memory.
/// \return their sum
EK_AVX512_BF16_INLINE float exp2_row(float* scores, std::int64_t count, float factor,
                                     float largest) {
  Bf16* const weights = reinterpret_cast<Bf16*>(scores);
  const __m512 factors = _mm512_set1_ps(factor), shift = _mm512_set1_ps(largest);
  __m512 sum = _mm512_setzero_ps(), more = sum;
  for (std::int64_t j = 0; j < count; j += 32) {
    const __m512 low = _mm512_loadu_ps(scores + j), high = _mm512_loadu_ps(scores + j + 16);
    const __m512 a = avx512::exp2_ps(_mm512_fmsub_ps(low, factors, shift));
    const __m512 b = avx512::exp2_ps(_mm512_fmsub_ps(high, factors, shift));
    sum = _mm512_add_ps(sum, a);
    more = _mm512_add_ps(more, b);
    avx512::store_32(weights + j, a, b);
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(sum, more));
}

/// The rescaling factor of earlier sums for sixteen queries: 2^(before - largest); 1 if there are
/// no earlier sums.
EK_AVX512_BF16_INLINE __m512 rescale_factor(__m512 before, __m512 largest) {
  const __mmask16 has_some = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(kMaskedScore), _CMP_NEQ_UQ);
  const __m512 one = _mm512_set1_ps(1);
  return _mm512_mask_mov_ps(one, has_some, avx512::exp2_ps(_mm512_sub_ps(before, largest)));
}

}  // namespace evenkeel::kernels::cpu
