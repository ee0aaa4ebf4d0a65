// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/layer_norm_lanes.h"

#include "evenkeel/kernels/cpu/amx.h"

#if defined(__x86_64__)

#include <algorithm>

#include "evenkeel/kernels/cpu/bf16_lanes.h"

namespace evenkeel::kernels::cpu {

namespace {

/// A row's (x - mean) * rstd in float32, without the rounding of the mean.
struct Centred {
  __m512 mean, rest, rstd;
};
EK_LANES Centred centred(const RowMoments& moments) {
  const auto mean = static_cast<float>(moments.mean);
  return {_mm512_set1_ps(mean),
          _mm512_set1_ps(static_cast<float>(moments.mean - static_cast<double>(mean))),
          _mm512_set1_ps(static_cast<float>(moments.rstd))};
}
/// Zeros in the other lanes, in which it could be infinite.
EK_LANES __m512 x_hat_of(const Bf16* x, const Centred& row, __mmask16 mask) {
  const __m512 deviation = _mm512_sub_ps(lanes::load_16(x, mask), row.mean);
  return _mm512_maskz_mul_ps(mask, _mm512_sub_ps(deviation, row.rest), row.rstd);
}

/// In one pass: what cancels between mean(x^2) and mean(x)^2 are 16 bits of a double and as many as
/// the width has.
EK_AMX RowMoments moments_of(const Bf16* x, std::int64_t width, double epsilon) {
  auto sum = lanes::no_doubles(), squares = sum;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto value = lanes::doubles_of(lanes::load_16(x + i, lanes::first_of_16(width - i)));
    sum = lanes::plus(sum, value);
    squares = lanes::plus_squares(squares, value);
  }
  const auto features = static_cast<double>(width);
  const double mean = lanes::sum_of(sum) / features;
  const double variance = lanes::sum_of(squares) / features - mean * mean;
  return {.mean = mean, .rstd = inverse_root(std::max(variance, 0.0) + epsilon)};
}

/// False where a result is too small to be rounded by the processor.
EK_AMX bool scale(const Bf16* x, const RowMoments& moments, const float* gain, const float* bias,
                  Bf16* y, std::int64_t width) {
  const auto row = centred(moments);
  __mmask16 tiny = 0;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = lanes::first_of_16(width - i);
    const __m512 x_hat = x_hat_of(x + i, row, mask);
    const __m512 result =
        _mm512_fmadd_ps(x_hat, lanes::load_16(gain + i, mask), lanes::load_16(bias + i, mask));
    tiny |= lanes::tiny_of(result);
    lanes::store_16(y + i, result, mask);
  }
  return tiny == 0;
}

/// dy, g = dy * gain and x_hat, sixteen of each from `at` on.
struct Terms {
  __m512 upstream, g, x_hat;
};
EK_LANES Terms terms_of(const LayerNormGradient<Bf16>& of, std::int64_t at, __m512 gain,
                        const Centred& row, __mmask16 mask) {
  const __m512 upstream = lanes::load_16(of.dy + at, mask);
  return {upstream, _mm512_mul_ps(upstream, gain), x_hat_of(of.x + at, row, mask)};
}

/// mean(g) and mean(g * x_hat).
struct Means {
  __m512 g, slope;
};

/// False where the row is not moderate.
EK_LANES bool means_of(const LayerNormGradient<Bf16>& of, std::int64_t row, std::int64_t width,
                       const Centred& by, Means& means) {
  if (!is_moderate(of.rstd[row])) return false;
  __m512 g = _mm512_setzero_ps(), slope = g, largest = g;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = lanes::first_of_16(width - i);
    const auto terms = terms_of(of, row * width + i, lanes::load_16(of.gain + i, mask), by, mask);
    g = _mm512_add_ps(g, terms.g);
    slope = _mm512_fmadd_ps(terms.g, terms.x_hat, slope);
    largest = lanes::larger_of(largest, terms.g);
  }
  const auto features = static_cast<float>(width);
  means = {_mm512_set1_ps(_mm512_reduce_add_ps(g) / features),
           _mm512_set1_ps(_mm512_reduce_add_ps(slope) / features)};
  return lanes::is_most_moderate(_mm512_mul_ps(largest, by.rstd));
}

/// kRows rows from `first` on, in one pass over the gradients of gain and bias.
template <int kRows>
EK_AMX bool backward(const LayerNormGradient<Bf16>& of, std::int64_t first, std::int64_t width) {
  Centred by[kRows];
  Means means[kRows];
  for (int r = 0; r < kRows; ++r) {
    by[r] = centred({.mean = of.mean[first + r], .rstd = of.rstd[first + r]});
    if (!means_of(of, first + r, width, by[r], means[r])) return false;
  }
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = lanes::first_of_16(width - i);
    const __m512 gain = lanes::load_16(of.gain + i, mask);
    __m512 dgain = _mm512_setzero_ps(), dbias = dgain;
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto at = (first + r) * width + i;
      const auto terms = terms_of(of, at, gain, by[r], mask);
      dgain = _mm512_fmadd_ps(terms.upstream, terms.x_hat, dgain);
      dbias = _mm512_add_ps(dbias, terms.upstream);
      const __m512 through =
          _mm512_fnmadd_ps(terms.x_hat, means[r].slope, _mm512_sub_ps(terms.g, means[r].g));
      lanes::store_16(of.dx + at, _mm512_mul_ps(by[r].rstd, through), mask);
    }
    lanes::add_16(of.dgain + i, dgain, mask);
    lanes::add_16(of.dbias + i, dbias, mask);
  }
  return true;
}

}  // namespace

std::optional<RowMoments> layer_norm_row_in_lanes(const Bf16* x, const float* gain,
                                                  const float* bias, Bf16* y, std::int64_t width,
                                                  double epsilon) {
  if (!has_amx()) return std::nullopt;
  const auto moments = moments_of(x, width, epsilon);
  if (!is_moderate(moments.rstd)) return std::nullopt;
  if (!scale(x, moments, gain, bias, y, width)) return std::nullopt;
  return moments;
}

std::int64_t layer_norm_backward_in_lanes(const LayerNormGradient<Bf16>& of, std::int64_t first,
                                          std::int64_t rows, std::int64_t width) {
  if (!has_amx()) return 0;
  return rows_taken(
      first, rows, [&](std::int64_t row) { return backward<4>(of, row, width); },
      [&](std::int64_t row) { return backward<1>(of, row, width); });
}

}  // namespace evenkeel::kernels::cpu

#else

namespace evenkeel::kernels::cpu {

std::optional<RowMoments> layer_norm_row_in_lanes(const Bf16*, const float*, const float*, Bf16*,
                                                  std::int64_t, double) {
  return std::nullopt;
}

std::int64_t layer_norm_backward_in_lanes(const LayerNormGradient<Bf16>&, std::int64_t,
                                          std::int64_t, std::int64_t) {
  return 0;
}

}  // namespace evenkeel::kernels::cpu

#endif
