// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/swiglu_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"

namespace evenkeel::kernels::cpu {

namespace {

/// sigmoid(z) = 1 / (1 + e^-z) and 1 - sigmoid(z), both without cancellation.
struct Sigmoid {
  __m512 value, complement;
};

/// 1 / x for 1 <= x <= 2, to a unit in the last place. A vector division would take as long as the
/// rest of the sigmoid.
EK_AVX512_BF16_INLINE __m512 inverse_of(__m512 x) {
  const __m512 near = _mm512_rcp14_ps(x);
  return _mm512_fmadd_ps(near, _mm512_fnmadd_ps(x, near, _mm512_set1_ps(1)), near);
}

EK_AVX512_BF16_INLINE Sigmoid sigmoid(__m512 z) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 below =
      _mm512_mul_ps(_mm512_abs_ps(z), _mm512_set1_ps(static_cast<float>(-kLog2OfE)));
  const __m512 e = avx512::exp2_ps(below);
  const __m512 large = inverse_of(_mm512_add_ps(one, e));
  const __m512 small = _mm512_mul_ps(e, large);
  const __mmask16 is_below = _mm512_cmp_ps_mask(z, _mm512_setzero_ps(), _CMP_LT_OQ);
  return {_mm512_mask_blend_ps(is_below, large, small),
          _mm512_mask_blend_ps(is_below, small, large)};
}

template <typename Mask>
EK_AVX512_BF16_INLINE void forward_16(const Bf16* up, const Bf16* gate, Bf16* y, Mask mask) {
  const __m512 z = avx512::load_16(gate, mask);
  const __m512 gated = _mm512_mul_ps(z, sigmoid(z).value);
  avx512::store_16(y, _mm512_mul_ps(avx512::load_16(up, mask), gated), mask);
}

EK_AVX512_BF16 void forward(const Bf16* up, const Bf16* gate, Bf16* y, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    prefetch_ahead(gate + i);
    prefetch_ahead(up + i);
    forward_16(up + i, gate + i, y + i, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) forward_16(up + i, gate + i, y + i, rest);
}

template <bool kWritesY, typename Mask>
EK_AVX512_BF16_INLINE void backward_16(const SwigluGradient<Bf16>& row, std::int64_t i, Mask mask) {
  const __m512 z = avx512::load_16(row.gate + i, mask);
  const __m512 upstream = avx512::load_16(row.dy + i, mask);
  const __m512 up = avx512::load_16(row.up + i, mask);
  const auto s = sigmoid(z);
  const __m512 slope = _mm512_mul_ps(s.value, _mm512_fmadd_ps(z, s.complement, _mm512_set1_ps(1)));
  const __m512 gated = _mm512_mul_ps(z, s.value);
  avx512::store_16(row.dup + i, _mm512_mul_ps(upstream, gated), mask);
  avx512::store_16(row.dgate + i, _mm512_mul_ps(_mm512_mul_ps(upstream, up), slope), mask);
  if constexpr (kWritesY) avx512::store_16(row.y + i, _mm512_mul_ps(up, gated), mask);
}

template <bool kWritesY>
EK_AVX512_BF16 void backward(const SwigluGradient<Bf16>& row, std::int64_t width) {
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    prefetch_ahead(row.gate + i);
    prefetch_ahead(row.up + i);
    prefetch_ahead(row.dy + i);
    backward_16<kWritesY>(row, i, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) backward_16<kWritesY>(row, i, rest);
}

}  // namespace

bool swiglu_row_avx512(const Bf16* up, const Bf16* gate, Bf16* y, std::int64_t width) {
  if (!has_avx512_bf16()) return false;
  forward(up, gate, y, width);
  return true;
}

bool swiglu_row_backward_avx512(const SwigluGradient<Bf16>& row, std::int64_t width) {
  if (!has_avx512_bf16()) return false;
  row.y == nullptr ? backward<false>(row, width) : backward<true>(row, width);
  return true;
}

}  // namespace evenkeel::kernels::cpu
