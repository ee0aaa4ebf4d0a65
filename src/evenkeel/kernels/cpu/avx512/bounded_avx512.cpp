// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/bounded_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/columns_avx512.h"
#include "evenkeel/kernels/cpu/portable/bounded_functions.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The functions of bounded_functions.h in float32.
struct Bounded16 {
  __m512 value, slope;
};

/// c[kFirst] x^n + c[kFirst + 1] x^(n-1) + ...
template <int kFirst, int kCount>
EK_AVX512_INLINE __m512 polynomial_16(const double (&c)[kCount], __m512 x) {
  __m512 sum = _mm512_set1_ps(static_cast<float>(c[kFirst]));
#pragma GCC unroll 20
  for (int k = kFirst + 1; k < kCount; ++k) {
    sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(static_cast<float>(c[k])));
  }
  return sum;
}

/// e^-x for x >= 0.
EK_AVX512_INLINE __m512 exp_minus(__m512 x) {
  return avx512::exp2_ps(_mm512_mul_ps(x, _mm512_set1_ps(static_cast<float>(-kLog2OfE))));
}

/// \param x  also for its sign
EK_AVX512_INLINE __m512 with_sign_of(__m512 x, __m512 size) {
  return _mm512_or_ps(size, _mm512_and_ps(x, _mm512_set1_ps(-0.0F)));
}

EK_AVX512_INLINE Bounded16 tanh_16(__m512 x) {
  const __m512 one = _mm512_set1_ps(1), e = avx512::tanh_exponential(x);
  const __m512 inverse = _mm512_div_ps(one, _mm512_add_ps(one, e));
  const __m512 slope =
      _mm512_mul_ps(_mm512_mul_ps(_mm512_set1_ps(4), e), _mm512_mul_ps(inverse, inverse));
  return {avx512::tanh_ps(x, e), slope};
}

EK_AVX512_INLINE Bounded16 erf_16(__m512 x) {
  constexpr float kTwoOverRootPi = 1.1283791670955126F;
  constexpr int kFirstTerm = 7;  // terms from x^22 on are below 2e-9 for x below 1
  const __m512 one = _mm512_set1_ps(1), size = _mm512_abs_ps(x);
  const __m512 square = _mm512_mul_ps(size, size);
  const __m512 e = exp_minus(square);
  const __m512 cut = _mm512_min_ps(size, _mm512_set1_ps(6));  // erfc(6) is 2e-17
  const __m512 two = _mm512_set1_ps(2);
  const __m512 place = _mm512_div_ps(_mm512_sub_ps(cut, two), _mm512_add_ps(cut, two));
  const __m512 far = _mm512_fnmadd_ps(e, polynomial_16<0>(kErfc, place), one);
  const __m512 near = _mm512_mul_ps(size, polynomial_16<kFirstTerm>(kErf, square));
  const __mmask16 is_near = _mm512_cmp_ps_mask(size, one, _CMP_LT_OQ);
  const __m512 slope = _mm512_mul_ps(_mm512_set1_ps(kTwoOverRootPi), e);
  return {with_sign_of(x, _mm512_mask_blend_ps(is_near, far, near)), slope};
}

template <BoundedKind kKind>
EK_AVX512_INLINE Bounded16 function_16(__m512 x) {
  return kKind == BoundedKind::tanh ? tanh_16(x) : erf_16(x);
}

struct Parameters16 {
  __m512 alpha, shift;
};
EK_AVX512_INLINE Parameters16 in_lanes(const BoundedParameters& parameters) {
  return {_mm512_set1_ps(static_cast<float>(parameters.alpha)),
          _mm512_set1_ps(static_cast<float>(parameters.shift))};
}

template <BoundedKind kKind>
struct BoundedRow {
  const Bf16* x;
  const float* gain;
  const float* bias;
  Bf16* y;
  Parameters16 by;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    const auto f =
        function_16<kKind>(_mm512_fmadd_ps(by.alpha, avx512::load_16(x + i, mask), by.shift));
    avx512::store_rounded_16(
        y + i,
        _mm512_fmadd_ps(f.value, avx512::load_16(gain + i, mask), avx512::load_16(bias + i, mask)),
        mask);
  }
};

template <BoundedKind kKind>
struct BoundedRowBackward {
  const BoundedGradient<Bf16>& row;
  Parameters16 by;
  __m512 dalpha, dshift;  // partial sums

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    const __m512 x = avx512::load_16(row.x + i, mask);
    const __m512 upstream = avx512::load_16(row.dy + i, mask);
    const auto f = function_16<kKind>(_mm512_fmadd_ps(by.alpha, x, by.shift));
    const __m512 through =
        _mm512_mul_ps(_mm512_mul_ps(upstream, avx512::load_16(row.gain + i, mask)), f.slope);
    dalpha = _mm512_fmadd_ps(through, x, dalpha);
    dshift = _mm512_add_ps(dshift, through);
    avx512::store_rounded_16(row.dx + i, _mm512_mul_ps(by.alpha, through), mask);
    avx512::add_16(row.dgain + i, _mm512_mul_ps(upstream, f.value), mask);
    if (row.dbias != nullptr) avx512::add_16(row.dbias + i, upstream, mask);
  }
};

/// The largest |alpha x + shift|, and the largest |dy gain|.
struct LargestTerms {
  const BoundedGradient<Bf16>& row;
  Parameters16 by;
  __m512 argument, g;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    prefetch_ahead(row.x + i);
    prefetch_ahead(row.dy + i);
    const __m512 x = avx512::load_16(row.x + i, mask);
    argument = avx512::max_abs(argument, _mm512_fmadd_ps(by.alpha, x, by.shift));
    g = avx512::max_abs(
        g, _mm512_mul_ps(avx512::load_16(row.dy + i, mask), avx512::load_16(row.gain + i, mask)));
  }
};

/// Whether the gradients of a row stay in the range of float32: no slope is below 2^-117.
template <BoundedKind kKind>
EK_AVX512_BF16 bool has_slopes_in_float(const BoundedGradient<Bf16>& row, std::int64_t width,
                                        const Parameters16& by) {
  constexpr float kMost = kKind == BoundedKind::tanh ? 41 : 9;
  LargestTerms largest{row, by, _mm512_setzero_ps(), _mm512_setzero_ps()};
  avx512::for_each_16_columns(width, largest);
  return _mm512_reduce_max_ps(largest.argument) < kMost && avx512::max_fits_float32(largest.g);
}

template <BoundedKind kKind>
EK_AVX512_BF16 void bounded_forward(const BoundedRow<kKind>& row, std::int64_t width) {
  avx512::for_each_16_columns(width, row);
}

template <BoundedKind kKind>
EK_AVX512_BF16 bool bounded_backward(const BoundedGradient<Bf16>& row, std::int64_t width,
                                     const BoundedParameters& parameters) {
  const auto by = in_lanes(parameters);
  if (!has_slopes_in_float<kKind>(row, width, by)) return false;
  BoundedRowBackward<kKind> step{row, by, _mm512_setzero_ps(), _mm512_setzero_ps()};
  avx512::for_each_16_columns(width, step);
  *row.dalpha += avx512::sum_of_lanes(step.dalpha);
  *row.dshift += avx512::sum_of_lanes(step.dshift);
  return true;
}

EK_AVX512_BF16 void bounded_of_kind(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                                    std::int64_t width, const BoundedParameters& parameters) {
  const auto by = in_lanes(parameters);
  parameters.function == BoundedKind::tanh
      ? bounded_forward<BoundedKind::tanh>({x, gain, bias, y, by}, width)
      : bounded_forward<BoundedKind::erf>({x, gain, bias, y, by}, width);
}

}  // namespace

bool bounded_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                        std::int64_t width, const BoundedParameters& parameters) {
  if (!has_avx512_bf16()) return false;
  bounded_of_kind(x, gain, bias, y, width, parameters);
  return true;
}

bool bounded_row_backward_avx512(const BoundedGradient<Bf16>& row, std::int64_t width,
                                 const BoundedParameters& parameters) {
  if (!has_avx512_bf16()) return false;
  return parameters.function == BoundedKind::tanh
             ? bounded_backward<BoundedKind::tanh>(row, width, parameters)
             : bounded_backward<BoundedKind::erf>(row, width, parameters);
}

}  // namespace evenkeel::kernels::cpu
