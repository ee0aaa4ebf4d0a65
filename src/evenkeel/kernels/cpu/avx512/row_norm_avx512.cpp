// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/row_norm_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/centred_rows_avx512.h"

namespace evenkeel::kernels::cpu {

namespace {

using centred_rows::RowFactors;
using centred_rows::RowStatistic;

/// The sum of x^2 of the first `width` values, in float32.
EK_AVX512_BF16_INLINE double sum_of_squares(const Bf16* x, std::int64_t width) {
  __m512 sums = _mm512_setzero_ps();
  for (std::int64_t i = 0; i < width; i += 32) {
    prefetch_ahead(x + i);
    const __m512bh values = avx512::load_32(x + i, avx512::tail_mask_32(width - i));
    sums = _mm512_dpbf16_ps(sums, values, values);
  }
  return static_cast<double>(_mm512_reduce_add_ps(sums));
}

/// Sixteen maxima of |x|.
struct LargestOfRow {
  const Bf16* x;
  __m512 largest;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    largest = avx512::max_abs(largest, avx512::load_16(x + i, mask));
  }
};

/// max|x|
EK_AVX512_BF16_INLINE double largest_of(const Bf16* x, std::int64_t width) {
  LargestOfRow row{x, _mm512_setzero_ps()};
  avx512::for_each_16_columns(width, row);
  return static_cast<double>(_mm512_reduce_max_ps(row.largest));
}

struct CheckedFactors {
  RowFactors factors;
  bool is_near;  // x_hat is one fused multiply-add
  bool is_safe;  // in the range of float32
};

EK_AVX512_BF16_INLINE CheckedFactors factors_of(const Bf16* x, std::int64_t width,
                                                const RowDenominator& denominator) {
  const auto count = static_cast<double>(width);
  double mean = 0, squares = 0;
  bool is_near = true, is_safe = true;
  if (denominator.is_centred) {
    const auto near = centred_rows::near_statistic(x, width);
    const auto statistic = near ? *near : centred_rows::far_statistic(x, width);
    is_near = near.has_value();
    mean = statistic.mean;
    squares = statistic.variance * count;
  } else {
    squares = sum_of_squares(x, denominator.partial_width);
    const bool is_partial = denominator.partial_width < width;
    is_safe = !is_partial || fits_float32(sum_of_squares(x, width));
  }
  const double largest = denominator.absmax8 ? largest_of(x, width) : 0;
  const auto [rho, slope] = row_scale_of(squares, largest, denominator);
  return {{mean, rho, slope}, is_near, is_safe && fits_float32(squares) && fits_float32(rho)};
}

EK_AVX512_BF16 bool row_forward(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                                std::int64_t width, const RowDenominator& denominator) {
  const auto of_row = factors_of(x, width, denominator);
  if (!of_row.is_safe) return false;
  const auto row = centred_rows::centred(of_row.factors.mean, of_row.factors.rstd);
  return of_row.is_near ? centred_rows::scale<true>(x, row, gain, bias, y, width)
                        : centred_rows::scale<false>(x, row, gain, bias, y, width);
}

template <int kRows>
EK_AVX512_BF16 bool row_backward(const RowNormGradient<Bf16>& args, std::int64_t first,
                                 const RowDenominator& denominator) {
  const centred_rows::Gradient rows = {.dy = args.dy,
                                       .x = args.x,
                                       .gain = args.gain,
                                       .dx = args.dx,
                                       .dgain = args.dgain,
                                       .dbias = args.dbias,
                                       .stride = args.stride,
                                       .width = args.width,
                                       .partial = denominator.partial_width,
                                       .is_centred = denominator.is_centred};
  RowFactors factors[kRows];
  bool are_near = true;
  for (int r = 0; r < kRows; ++r) {
    const auto of_row = factors_of(args.x + (first + r) * args.stride, args.width, denominator);
    if (!of_row.is_safe) return false;
    factors[r] = of_row.factors;
    are_near = are_near && of_row.is_near;
  }
  const auto at = first * args.stride;
  if (are_near && centred_rows::rows_backward<true>(rows, at, factors)) return true;
  return denominator.is_centred && centred_rows::rows_backward<false>(rows, at, factors);
}

}  // namespace

bool row_norm_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                         std::int64_t width, const RowDenominator& denominator) {
  return has_avx512_bf16() && row_forward(x, gain, bias, y, width, denominator);
}

std::int64_t row_norm_backward_avx512(const RowNormGradient<Bf16>& args, std::int64_t first,
                                      std::int64_t rows, const RowDenominator& denominator) {
  if (!has_avx512_bf16()) return 0;
  return processed_rows(
      first, rows, [&](std::int64_t row) { return row_backward<4>(args, row, denominator); },
      [&](std::int64_t row) { return row_backward<1>(args, row, denominator); });
}

}  // namespace evenkeel::kernels::cpu
