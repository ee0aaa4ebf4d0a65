// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"

namespace evenkeel::kernels::cpu::avx512 {

/// Calls step(i, mask) for the columns [first, last) of a row, sixteen at a time from column i on;
/// `mask` is AllLanes, or has the lanes of the last columns.
template <typename Step>
EK_AVX512_BF16_INLINE void for_each_16_columns(std::int64_t first, std::int64_t last, Step&& step) {
  auto i = first;
  for (; i + 16 <= last; i += 16) step(i, AllLanes{});
  const auto rest = tail_mask_16(last - i);
  if (rest != 0) step(i, rest);
}
/// All columns of a row.
template <typename Step>
EK_AVX512_BF16_INLINE void for_each_16_columns(std::int64_t width, Step&& step) {
  for_each_16_columns(0, width, step);
}

/// Sixteen doubles in float32.
EK_AVX512_INLINE __m512 load_16(const double* from, AllLanes /*all*/ = {}) {
  const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(from));
  const __m256 high = _mm512_cvtpd_ps(_mm512_loadu_pd(from + 8));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}
EK_AVX512_INLINE __m512 load_16(const double* from, __mmask16 mask) {
  const __m256 low = _mm512_cvtpd_ps(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
  const __m256 high =
      _mm512_cvtpd_ps(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask >> 8), from + 8));
  return _mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
}

/// The sum of sixteen lanes.
EK_AVX512_INLINE double sum_of_lanes(__m512 lanes) {
  return static_cast<double>(_mm512_reduce_add_ps(lanes));
}

}  // namespace evenkeel::kernels::cpu::avx512
