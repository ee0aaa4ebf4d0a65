// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/layer_norm_avx512.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"

namespace evenkeel::kernels::cpu {

namespace {

/// True if the mean is at most half a standard deviation from 0. Then x - mean loses few digits:
/// float32 has enough of them, and x_hat is one fused multiply-add.
bool is_near(double mean, double mean_square) {
  return fits_float32(mean_square) && mean * mean <= 0.2 * mean_square;
}

/// A row's x_hat = (x - mean) * rstd in float32.
struct Centred {
  __m512 mean, rest, rstd;  // rest: rounding error of the mean
  __m512 shift;             // -mean * rstd
};
EK_AVX512_BF16_INLINE Centred centred(const RowMoments& moments) {
  const auto mean = static_cast<float>(moments.mean);
  return {_mm512_set1_ps(mean),
          _mm512_set1_ps(static_cast<float>(moments.mean - static_cast<double>(mean))),
          _mm512_set1_ps(static_cast<float>(moments.rstd)),
          _mm512_set1_ps(static_cast<float>(-moments.mean * moments.rstd))};
}
template <bool kNear>
EK_AVX512_BF16_INLINE __m512 x_hat_of(__m512 x, const Centred& row, avx512::AllLanes /*all*/ = {}) {
  if constexpr (kNear) return _mm512_fmadd_ps(x, row.rstd, row.shift);
  const __m512 deviation = _mm512_sub_ps(x, row.mean);
  return _mm512_mul_ps(_mm512_sub_ps(deviation, row.rest), row.rstd);
}
/// Zeros in the masked-out lanes, where x_hat could be infinite.
template <bool kNear>
EK_AVX512_BF16_INLINE __m512 x_hat_of(__m512 x, const Centred& row, __mmask16 mask) {
  return _mm512_maskz_mov_ps(mask, x_hat_of<kNear>(x, row));
}

/// The moments, by bfloat16 products with float32 sums; nullopt unless is_near().
EK_AVX512_BF16 std::optional<RowMoments> near_moments_of(const Bf16* x, std::int64_t width,
                                                         double epsilon) {
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f80));
  __m512 sum = _mm512_setzero_ps(), squares = sum;
  for (std::int64_t i = 0; i < width; i += 32) {
    prefetch_ahead(x + i);
    const __m512bh values = avx512::load_32(x + i, avx512::tail_mask_32(width - i));
    sum = _mm512_dpbf16_ps(sum, values, ones);
    squares = _mm512_dpbf16_ps(squares, values, values);
  }
  const auto features = static_cast<double>(width);
  const double mean = static_cast<double>(_mm512_reduce_add_ps(sum)) / features;
  const double mean_square = static_cast<double>(_mm512_reduce_add_ps(squares)) / features;
  if (!is_near(mean, mean_square)) return std::nullopt;
  return RowMoments{.mean = mean, .rstd = inverse_root(mean_square - mean * mean + epsilon)};
}

/// The moments in one pass. mean(x^2) - mean(x)^2 loses at most 16 bits plus log2(width) bits by
/// cancellation, of the 53 of a double.
EK_AVX512_BF16 RowMoments moments_of(const Bf16* x, std::int64_t width, double epsilon) {
  auto sum = avx512::zero_doubles(), squares = sum;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto value = avx512::to_doubles(avx512::load_16(x + i, avx512::tail_mask_16(width - i)));
    sum = avx512::add(sum, value);
    squares = avx512::add_squares(squares, value);
  }
  const auto features = static_cast<double>(width);
  const double mean = avx512::reduce_add(sum) / features;
  const double variance = avx512::reduce_add(squares) / features - mean * mean;
  return {.mean = mean, .rstd = inverse_root(std::max(variance, 0.0) + epsilon)};
}

/// Stores sixteen results. \return the lanes that underflow: the instruction rounds them to 0
template <bool kNear, typename Mask>
EK_AVX512_BF16_INLINE __mmask16 scale_16(const Bf16* x, const Centred& row, const float* gain,
                                         const float* bias, Bf16* y, Mask mask) {
  const __m512 x_hat = x_hat_of<kNear>(avx512::load_16(x, mask), row, mask);
  const __m512 result =
      _mm512_fmadd_ps(x_hat, avx512::load_16(gain, mask), avx512::load_16(bias, mask));
  avx512::store_16(y, result, mask);
  return avx512::subnormal_mask(result);
}

/// \return false if a result is subnormal, which the rounding instruction would make 0
template <bool kNear>
EK_AVX512_BF16 bool scale(const Bf16* x, const RowMoments& moments, const float* gain,
                          const float* bias, Bf16* y, std::int64_t width) {
  const auto row = centred(moments);
  __mmask16 subnormal = 0;
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    subnormal |= scale_16<kNear>(x + i, row, gain + i, bias + i, y + i, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) subnormal |= scale_16<kNear>(x + i, row, gain + i, bias + i, y + i, rest);
  return subnormal == 0;
}

/// mean(g) and mean(g * x_hat), g = dy * gain, times rstd.
struct Means {
  __m512 g, slope;
};

/// Sixteen partial sums each, for the means of a row, and the largest |g|.
struct Partial {
  __m512 sum, dot, squares, largest;  // squares: of x
};
/// \tparam kNear  true: `dot` is the sum of g * x
template <bool kNear, typename Mask>
EK_AVX512_BF16_INLINE void add_16(Partial& to, const Bf16* dy, const Bf16* x, const float* gain,
                                  const Centred& row_params, Mask mask) {
  const __m512 g = _mm512_mul_ps(avx512::load_16(dy, mask), avx512::load_16(gain, mask));
  const __m512 value = avx512::load_16(x, mask);
  to.sum = _mm512_add_ps(to.sum, g);
  to.dot = _mm512_fmadd_ps(g, kNear ? value : x_hat_of<false>(value, row_params, mask), to.dot);
  if constexpr (kNear) to.squares = _mm512_fmadd_ps(value, value, to.squares);
  to.largest = avx512::max_abs(to.largest, g);
}

/// \return false if the row is outside the safe range of float32, or kNear without is_near()
template <bool kNear>
EK_AVX512_BF16_INLINE bool means_of(const LayerNormGradient<Bf16>& args, std::int64_t row,
                                    std::int64_t width, const Centred& row_params, Means& means) {
  const double rstd = args.rstd[row], mean = args.mean[row];
  if (!fits_float32(rstd)) return false;
  const Bf16* const dy = args.dy + row * width;
  const Bf16* const x = args.x + row * width;
  const __m512 none = _mm512_setzero_ps();
  Partial of_row = {none, none, none, none};
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    prefetch_ahead(dy + i);
    prefetch_ahead(x + i);
    add_16<kNear>(of_row, dy + i, x + i, args.gain + i, row_params, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) add_16<kNear>(of_row, dy + i, x + i, args.gain + i, row_params, rest);

  const auto features = static_cast<double>(width);
  const auto total = static_cast<double>(_mm512_reduce_add_ps(of_row.sum));
  auto slope = static_cast<double>(_mm512_reduce_add_ps(of_row.dot));
  if (kNear) {
    const auto squares = static_cast<double>(_mm512_reduce_add_ps(of_row.squares));
    if (!is_near(mean, squares / features)) return false;
    slope = rstd * (slope - mean * total);
  }
  means = {_mm512_set1_ps(static_cast<float>(total * rstd / features)),
           _mm512_set1_ps(static_cast<float>(slope * rstd / features))};
  return avx512::max_fits_float32(_mm512_mul_ps(of_row.largest, row_params.rstd));
}

/// Computes sixteen columns of kRows rows, from index `offset` on.
template <bool kNear, int kRows, typename Mask>
EK_AVX512_BF16_INLINE void columns_backward(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                            std::int64_t width, std::int64_t i,
                                            const Centred (&row_params)[kRows],
                                            const Means (&means)[kRows], Mask mask) {
  const __m512 gain = avx512::load_16(args.gain + i, mask);
  __m512 dgain = _mm512_setzero_ps(), dbias = dgain;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const auto offset = (first + r) * width + i;
    const __m512 upstream = avx512::load_16(args.dy + offset, mask);
    const __m512 x_hat =
        x_hat_of<kNear>(avx512::load_16(args.x + offset, mask), row_params[r], mask);
    dgain = _mm512_fmadd_ps(upstream, x_hat, dgain);
    dbias = _mm512_add_ps(dbias, upstream);
    const __m512 g = _mm512_mul_ps(upstream, gain);
    const __m512 through = _mm512_fmadd_ps(x_hat, means[r].slope, means[r].g);
    avx512::store_16(args.dx + offset, _mm512_fmsub_ps(g, row_params[r].rstd, through), mask);
  }
  avx512::add_16(args.dgain + i, dgain, mask);
  avx512::add_16(args.dbias + i, dbias, mask);
}

/// Computes kRows rows from `first` on, in one pass over the gradients of gain and bias.
template <bool kNear, int kRows>
EK_AVX512_BF16_INLINE bool rows_backward(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                         std::int64_t width) {
  Centred row_params[kRows];
  Means means[kRows];
  for (int r = 0; r < kRows; ++r) {
    row_params[r] = centred({.mean = args.mean[first + r], .rstd = args.rstd[first + r]});
    if (!means_of<kNear>(args, first + r, width, row_params[r], means[r])) return false;
  }
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    columns_backward<kNear>(args, first, width, i, row_params, means, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) columns_backward<kNear>(args, first, width, i, row_params, means, rest);
  return true;
}

template <int kRows>
EK_AVX512_BF16 bool backward(const LayerNormGradient<Bf16>& args, std::int64_t first,
                             std::int64_t width) {
  return rows_backward<true, kRows>(args, first, width) ||
         rows_backward<false, kRows>(args, first, width);
}

}  // namespace

std::optional<RowMoments> layer_norm_row_avx512(const Bf16* x, const float* gain, const float* bias,
                                                Bf16* y, std::int64_t width, double epsilon) {
  if (!has_avx512_bf16()) return std::nullopt;
  const auto near = near_moments_of(x, width, epsilon);
  const auto moments = near ? *near : moments_of(x, width, epsilon);
  if (!fits_float32(moments.rstd)) return std::nullopt;
  const bool is_done = near ? scale<true>(x, moments, gain, bias, y, width)
                            : scale<false>(x, moments, gain, bias, y, width);
  if (!is_done) return std::nullopt;
  return moments;
}

std::int64_t layer_norm_backward_avx512(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                        std::int64_t rows, std::int64_t width) {
  if (!has_avx512_bf16()) return 0;
  return processed_rows(
      first, rows, [&](std::int64_t row) { return backward<4>(args, row, width); },
      [&](std::int64_t row) { return backward<1>(args, row, width); });
}

}  // namespace evenkeel::kernels::cpu
