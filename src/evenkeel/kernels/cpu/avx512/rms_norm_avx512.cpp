// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/rms_norm_avx512.h"

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The sum of x^2 in float32, whose rounding error is far below that of bfloat16.
EK_AMX double squares_of(const Bf16* x, std::int64_t width) {
  __m512 even = _mm512_setzero_ps(), odd = even;
  for (std::int64_t i = 0; i < width; i += 64) {
    prefetch_ahead(x + i);
    prefetch_ahead(x + i + 32);
    const __m512bh a = avx512::load_32(x + i, avx512::tail_mask_32(width - i));
    const __m512bh b = avx512::load_32(x + i + 32, avx512::tail_mask_32(width - i - 32));
    even = _mm512_dpbf16_ps(even, a, a);
    odd = _mm512_dpbf16_ps(odd, b, b);
  }
  return static_cast<double>(_mm512_reduce_add_ps(_mm512_add_ps(even, odd)));
}

/// \return false if a result is subnormal, which the rounding instruction would make 0
EK_AMX bool scale(const Bf16* x, float factor, const float* gain, Bf16* y, std::int64_t width) {
  const __m512 factors = _mm512_set1_ps(factor);
  __mmask16 subnormal = 0;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = avx512::tail_mask_16(width - i);
    const __m512 x_hat = _mm512_mul_ps(avx512::load_16(x + i, mask), factors);
    const __m512 scaled = _mm512_mul_ps(x_hat, avx512::load_16(gain + i, mask));
    subnormal |= avx512::subnormal_mask(scaled);
    avx512::store_16(y + i, scaled, mask);
  }
  return subnormal == 0;
}

/// \return as scale()
EK_AMX bool add(const Bf16* residual, const Bf16* branch, Bf16* sum, std::int64_t width) {
  __mmask16 subnormal = 0;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = avx512::tail_mask_16(width - i);
    const __m512 both =
        _mm512_add_ps(avx512::load_16(residual + i, mask), avx512::load_16(branch + i, mask));
    subnormal |= avx512::subnormal_mask(both);
    avx512::store_16(sum + i, both, mask);
  }
  return subnormal == 0;
}

/// g = dy * gain and x_hat = x * rstd, sixteen of each from `offset` on.
struct Terms {
  __m512 upstream, g, x_hat;
};
EK_AMX_INLINE Terms terms_of(const RmsNormGradient<Bf16>& args, std::int64_t offset, __m512 gain,
                             __m512 rstd, __mmask16 mask) {
  const __m512 upstream = avx512::load_16(args.dy + offset, mask);
  return {upstream, _mm512_mul_ps(upstream, gain),
          _mm512_mul_ps(avx512::load_16(args.x + offset, mask), rstd)};
}

/// Computes mean(g * x_hat). \return false if the row is outside the safe range of float32
EK_AMX_INLINE bool mean_of(const RmsNormGradient<Bf16>& args, std::int64_t row, std::int64_t width,
                           __m512& mean) {
  if (!fits_float32(args.rstd[row])) return false;
  const __m512 rstd = _mm512_set1_ps(static_cast<float>(args.rstd[row]));
  __m512 dot = _mm512_setzero_ps(), largest = dot;
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = avx512::tail_mask_16(width - i);
    const auto terms =
        terms_of(args, row * width + i, avx512::load_16(args.gain + i, mask), rstd, mask);
    prefetch_ahead(args.dy + row * width + i);
    prefetch_ahead(args.x + row * width + i);
    // The next pass reads it first, in four rows at once.
    if (args.skip != nullptr) _mm_prefetch(args.skip + row * width + i, _MM_HINT_T0);
    dot = _mm512_fmadd_ps(terms.g, terms.x_hat, dot);
    largest = avx512::max_abs(largest, terms.g);
  }
  mean = _mm512_set1_ps(_mm512_reduce_add_ps(dot) / static_cast<float>(width));
  return avx512::max_fits_float32(_mm512_mul_ps(largest, rstd));
}

/// Computes kRows rows from `first` on, in one pass over the gradient of the gain.
template <int kRows>
EK_AMX bool backward(const RmsNormGradient<Bf16>& args, std::int64_t first, std::int64_t width) {
  __m512 mean[kRows], rstd[kRows];
  for (int r = 0; r < kRows; ++r) {
    if (!mean_of(args, first + r, width, mean[r])) return false;
    rstd[r] = _mm512_set1_ps(static_cast<float>(args.rstd[first + r]));
  }
  for (std::int64_t i = 0; i < width; i += 16) {
    const auto mask = avx512::tail_mask_16(width - i);
    const __m512 gain = avx512::load_16(args.gain + i, mask);
    __m512 dgain = _mm512_setzero_ps();
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto offset = (first + r) * width + i;
      const auto terms = terms_of(args, offset, gain, rstd[r], mask);
      dgain = _mm512_fmadd_ps(terms.upstream, terms.x_hat, dgain);
      __m512 total = _mm512_mul_ps(rstd[r], _mm512_fnmadd_ps(terms.x_hat, mean[r], terms.g));
      if (args.skip != nullptr)
        total = _mm512_add_ps(avx512::load_16(args.skip + offset, mask), total);
      avx512::store_16(args.dx + offset, total, mask);
    }
    avx512::add_16(args.dgain + i, dgain, mask);
  }
  return true;
}

}  // namespace

std::optional<double> rms_norm_row_avx512(const Bf16* x, const float* gain, Bf16* y,
                                          std::int64_t width, double epsilon) {
  if (!has_avx512_bf16()) return std::nullopt;
  const double squares = squares_of(x, width);
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon);
  if (!fits_float32(squares) || !fits_float32(rstd)) return std::nullopt;
  if (!scale(x, static_cast<float>(rstd), gain, y, width)) return std::nullopt;
  return rstd;
}

bool add_row_avx512(const Bf16* residual, const Bf16* branch, Bf16* sum, std::int64_t width) {
  return has_avx512_bf16() && add(residual, branch, sum, width);
}

std::int64_t rms_norm_backward_avx512(const RmsNormGradient<Bf16>& args, std::int64_t first,
                                      std::int64_t rows, std::int64_t width) {
  if (!has_avx512_bf16()) return 0;
  return processed_rows(
      first, rows, [&](std::int64_t row) { return backward<4>(args, row, width); },
      [&](std::int64_t row) { return backward<1>(args, row, width); });
}

}  // namespace evenkeel::kernels::cpu
