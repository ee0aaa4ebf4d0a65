// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/columns_avx512.h"

/// Rows of bfloat16 that are divided by a statistic of themselves, in float32 where
/// has_avx512_bf16(): what layer_norm_avx512.cpp and row_norm_avx512.cpp share.
namespace evenkeel::kernels::cpu::centred_rows {

/// The mean of a row's x and of (x - mean)^2. Rows that are not centred have mean 0.
struct RowStatistic {
  double mean = 0, variance = 0;
};

/// True if the mean is at most half a standard deviation from 0. Then x - mean loses few digits:
/// float32 has enough of them, and x_hat is one fused multiply-add.
inline bool is_near(double mean, double mean_square) {
  return fits_float32(mean_square) && mean * mean <= 0.2 * mean_square;
}

/// A row's x_hat = (x - mean) * rstd in float32.
struct Centred {
  __m512 mean, rest, rstd;  // rest: rounding error of the mean
  __m512 shift;             // -mean * rstd
};
EK_AVX512_BF16_INLINE Centred centred(double mean, double rstd) {
  const auto rounded = static_cast<float>(mean);
  return {_mm512_set1_ps(rounded),
          _mm512_set1_ps(static_cast<float>(mean - static_cast<double>(rounded))),
          _mm512_set1_ps(static_cast<float>(rstd)),
          _mm512_set1_ps(static_cast<float>(-mean * rstd))};
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

/// The statistic, by bfloat16 products with float32 sums; nullopt unless is_near().
EK_AVX512_BF16_INLINE std::optional<RowStatistic> near_statistic(const Bf16* x,
                                                                 std::int64_t width) {
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
  return RowStatistic{.mean = mean, .variance = mean_square - mean * mean};
}

/// Sixteen partial sums of x and of x^2 in double.
struct DoubleSums {
  const Bf16* x;
  avx512::DoubleVec16 sum, squares;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    const auto value = avx512::to_doubles(avx512::load_16(x + i, mask));
    sum = avx512::add(sum, value);
    squares = avx512::add_squares(squares, value);
  }
};

/// The statistic in double and one pass. mean(x^2) - mean(x)^2 loses at most 16 bits plus
/// log2(width) bits by cancellation, of the 53 of a double.
EK_AVX512_BF16_INLINE RowStatistic far_statistic(const Bf16* x, std::int64_t width) {
  DoubleSums sums{x, avx512::zero_doubles(), avx512::zero_doubles()};
  avx512::for_each_16_columns(width, sums);
  const auto features = static_cast<double>(width);
  const double mean = avx512::reduce_add(sums.sum) / features;
  const double variance = avx512::reduce_add(sums.squares) / features - mean * mean;
  return {.mean = mean, .variance = std::max(variance, 0.0)};
}

/// y = gain * x_hat + bias.
template <bool kNear>
struct ScaledColumns {
  const Bf16* x;
  const Centred& row;
  const float* gain;
  const float* bias;
  Bf16* y;
  __mmask16 subnormal;  // lanes that underflow: the instruction rounds them to 0

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    const __m512 x_hat = x_hat_of<kNear>(avx512::load_16(x + i, mask), row, mask);
    const __m512 result =
        _mm512_fmadd_ps(x_hat, avx512::load_16(gain + i, mask), avx512::load_16(bias + i, mask));
    avx512::store_16(y + i, result, mask);
    subnormal |= avx512::subnormal_mask(result);
  }
};

/// y = gain * x_hat + bias.
/// \return false if a result is subnormal, which the rounding instruction would make 0
template <bool kNear>
EK_AVX512_BF16_INLINE bool scale(const Bf16* x, const Centred& row, const float* gain,
                                 const float* bias, Bf16* y, std::int64_t width) {
  ScaledColumns<kNear> step{x, row, gain, bias, y, 0};
  avx512::for_each_16_columns(width, step);
  return step.subnormal == 0;
}

/// Rows of a backward pass.
struct Gradient {
  const Bf16* dy;
  const Bf16* x;
  const float* gain;    // [width]
  Bf16* dx;             // written
  double* dgain;        // [width], added to; null: not required
  double* dbias;        // the same
  std::int64_t stride;  // from row to row of dy, x and dx
  std::int64_t width;
  std::int64_t partial;  // the statistic is of the first values only
  bool is_centred;
};

/// The factors of a row: x_hat = (x - mean) * rstd, and with g = dy * gain
///   dx = rstd * (g - mean(g) if centred) - (i < partial) x_hat * slope * sum(g * x_hat).
struct RowFactors {
  double mean, rstd, slope;
};

/// What a row's dx subtracts from g * rstd: rstd * mean(g), and the factor of x_hat.
struct Projections {
  __m512 g, slope;
};

/// Sixteen partial sums each, for the projections of a row, and the largest |g|.
/// \tparam kNear  true: `dot` is the sum of g * x
template <bool kNear>
struct PartialProjections {
  const Bf16* dy;
  const Bf16* x;
  const float* gain;
  const Centred& row;
  __m512 sum, dot, squares, largest;  // squares: of x

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    if constexpr (std::is_same_v<Mask, avx512::AllLanes>) {
      prefetch_ahead(dy + i);
      prefetch_ahead(x + i);
    }
    const __m512 g = _mm512_mul_ps(avx512::load_16(dy + i, mask), avx512::load_16(gain + i, mask));
    const __m512 value = avx512::load_16(x + i, mask);
    sum = _mm512_add_ps(sum, g);
    dot = _mm512_fmadd_ps(g, kNear ? value : x_hat_of<false>(value, row, mask), dot);
    if constexpr (kNear) squares = _mm512_fmadd_ps(value, value, squares);
    largest = avx512::max_abs(largest, g);
  }
};

/// \param at  offset of the row
/// \return false if the row is outside the safe range of float32, or kNear without is_near()
template <bool kNear>
EK_AVX512_BF16_INLINE bool projections_of(const Gradient& args, std::int64_t at,
                                          const RowFactors& factors, const Centred& row,
                                          Projections& projections) {
  if (!fits_float32(factors.rstd)) return false;
  const __m512 none = _mm512_setzero_ps();
  PartialProjections<kNear> of_row{args.dy + at, args.x + at, args.gain, row,
                                   none,         none,        none,      none};
  avx512::for_each_16_columns(args.width, of_row);

  const auto features = static_cast<double>(args.width);
  const auto total = static_cast<double>(_mm512_reduce_add_ps(of_row.sum));
  auto dot = static_cast<double>(_mm512_reduce_add_ps(of_row.dot));
  if (kNear) {
    const auto squares = static_cast<double>(_mm512_reduce_add_ps(of_row.squares));
    if (!is_near(factors.mean, squares / features)) return false;
    dot = factors.rstd * (dot - factors.mean * total);
  }
  const double mean_g = args.is_centred ? total * factors.rstd / features : 0;
  projections = {_mm512_set1_ps(static_cast<float>(mean_g)),
                 _mm512_set1_ps(static_cast<float>(dot * factors.slope))};
  return avx512::max_fits_float32(_mm512_mul_ps(of_row.largest, row.rstd));
}

/// The gradients of some columns of kRows rows.
/// \tparam kStatistic  whether the statistic is of these columns
template <bool kNear, bool kStatistic, int kRows>
struct CentredRowsBackward {
  const Gradient& args;
  std::int64_t at;  // offset of the first row
  const Centred (&rows)[kRows];
  const Projections (&projections)[kRows];

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    const __m512 gain = avx512::load_16(args.gain + i, mask);
    __m512 dgain = _mm512_setzero_ps(), dbias = dgain;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto offset = at + r * args.stride + i;
      const __m512 upstream = avx512::load_16(args.dy + offset, mask);
      const __m512 x_hat = x_hat_of<kNear>(avx512::load_16(args.x + offset, mask), rows[r], mask);
      dgain = _mm512_fmadd_ps(upstream, x_hat, dgain);
      dbias = _mm512_add_ps(dbias, upstream);
      const __m512 g = _mm512_mul_ps(upstream, gain);
      const __m512 through = kStatistic
                                 ? _mm512_fmadd_ps(x_hat, projections[r].slope, projections[r].g)
                                 : projections[r].g;
      avx512::store_16(args.dx + offset, _mm512_fmsub_ps(g, rows[r].rstd, through), mask);
    }
    if (args.dgain != nullptr) avx512::add_16(args.dgain + i, dgain, mask);
    if (args.dbias != nullptr) avx512::add_16(args.dbias + i, dbias, mask);
  }
};

/// Computes kRows rows in one pass over the gradients of gain and bias.
/// \param at  offset of the first row
/// \return false, without a change of the gradients, if a row must be computed in double
template <bool kNear, int kRows>
EK_AVX512_BF16_INLINE bool rows_backward(const Gradient& args, std::int64_t at,
                                         const RowFactors (&factors)[kRows]) {
  Centred rows[kRows];
  Projections projections[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = centred(factors[r].mean, factors[r].rstd);
    if (!projections_of<kNear>(args, at + r * args.stride, factors[r], rows[r], projections[r])) {
      return false;
    }
  }
  using OfStatistic = CentredRowsBackward<kNear, true, kRows>;
  using OfOthers = CentredRowsBackward<kNear, false, kRows>;
  avx512::for_each_16_columns(0, args.partial, OfStatistic{args, at, rows, projections});
  avx512::for_each_16_columns(args.partial, args.width, OfOthers{args, at, rows, projections});
  return true;
}

}  // namespace evenkeel::kernels::cpu::centred_rows
