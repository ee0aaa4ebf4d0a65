// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/rms_norm_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The sum of x^2 in float32, whose rounding error is far below that of bfloat16.
EK_AVX512_BF16 double squares_of(const Bf16* x, std::int64_t width) {
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

/// Stores sixteen values. \return the lanes with subnormal ones, which the rounding instruction
/// makes 0
template <typename Mask>
EK_AVX512_BF16_INLINE __mmask16 store_normal_16(Bf16* to, __m512 values, Mask mask) {
  avx512::store_16(to, values, mask);
  return avx512::subnormal_mask(values);
}

template <typename Mask>
EK_AVX512_BF16_INLINE __mmask16 scale_16(const Bf16* x, __m512 factors, const float* gain, Bf16* y,
                                         Mask mask) {
  const __m512 x_hat = _mm512_mul_ps(avx512::load_16(x, mask), factors);
  return store_normal_16(y, _mm512_mul_ps(x_hat, avx512::load_16(gain, mask)), mask);
}

/// \return false if a result is subnormal
EK_AVX512_BF16 bool scale(const Bf16* x, float factor, const float* gain, Bf16* y,
                          std::int64_t width) {
  const __m512 factors = _mm512_set1_ps(factor);
  __mmask16 subnormal = 0;
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16)
    subnormal |= scale_16(x + i, factors, gain + i, y + i, avx512::AllLanes{});
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) subnormal |= scale_16(x + i, factors, gain + i, y + i, rest);
  return subnormal == 0;
}

template <typename Mask>
EK_AVX512_BF16_INLINE __mmask16 add_16(const Bf16* residual, const Bf16* branch, Bf16* sum,
                                       Mask mask) {
  const __m512 both = _mm512_add_ps(avx512::load_16(residual, mask), avx512::load_16(branch, mask));
  return store_normal_16(sum, both, mask);
}

/// The norm loads the sum right after, and a load of what a masked store wrote waits.
/// \return false if a sum is subnormal
EK_AVX512_BF16 bool add(const Bf16* residual, const Bf16* branch, Bf16* sum, std::int64_t width) {
  __mmask16 subnormal = 0;
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    prefetch_ahead(residual + i);
    prefetch_ahead(branch + i);
    subnormal |= add_16(residual + i, branch + i, sum + i, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) subnormal |= add_16(residual + i, branch + i, sum + i, rest);
  return subnormal == 0;
}

/// g = dy * gain and x_hat = x * rstd, sixteen of each from `offset` on.
struct Terms {
  __m512 upstream, g, x_hat;
};
template <typename Mask>
EK_AVX512_BF16_INLINE Terms terms_of(const RmsNormGradient<Bf16>& args, std::int64_t offset,
                                     __m512 gain, __m512 rstd, Mask mask) {
  const __m512 upstream = avx512::load_16(args.dy + offset, mask);
  return {upstream, _mm512_mul_ps(upstream, gain),
          _mm512_mul_ps(avx512::load_16(args.x + offset, mask), rstd)};
}

/// Sixteen partial sums of g * x_hat, and partial maxima of |g|.
struct Partial {
  __m512 dot, largest;
};
template <typename Mask>
EK_AVX512_BF16_INLINE void add_terms_16(Partial& to, const RmsNormGradient<Bf16>& args,
                                        std::int64_t offset, const float* gain, __m512 rstd,
                                        Mask mask) {
  const auto terms = terms_of(args, offset, avx512::load_16(gain, mask), rstd, mask);
  to.dot = _mm512_fmadd_ps(terms.g, terms.x_hat, to.dot);
  to.largest = avx512::max_abs(to.largest, terms.g);
}

/// Computes mean(g * x_hat). \return false if the row is outside the safe range of float32
EK_AVX512_BF16_INLINE bool mean_of(const RmsNormGradient<Bf16>& args, std::int64_t row,
                                   std::int64_t width, __m512& mean) {
  if (!fits_float32(args.rstd[row])) return false;
  const __m512 rstd = _mm512_set1_ps(static_cast<float>(args.rstd[row]));
  Partial of_row = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16) {
    const auto offset = row * width + i;
    prefetch_ahead(args.dy + offset);
    prefetch_ahead(args.x + offset);
    // The next pass reads it first, in four rows at once.
    if (args.skip != nullptr) _mm_prefetch(args.skip + offset, _MM_HINT_T0);
    add_terms_16(of_row, args, offset, args.gain + i, rstd, avx512::AllLanes{});
  }
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) add_terms_16(of_row, args, row * width + i, args.gain + i, rstd, rest);
  mean = _mm512_set1_ps(_mm512_reduce_add_ps(of_row.dot) / static_cast<float>(width));
  return avx512::max_fits_float32(_mm512_mul_ps(of_row.largest, rstd));
}

/// Sixteen columns of kRows rows, from column i on.
template <int kRows, typename Mask>
EK_AVX512_BF16_INLINE void columns_backward(const RmsNormGradient<Bf16>& args, std::int64_t first,
                                            std::int64_t width, std::int64_t i,
                                            const __m512 (&mean)[kRows],
                                            const __m512 (&rstd)[kRows], Mask mask) {
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

/// Computes kRows rows from `first` on, in one pass over the gradient of the gain.
template <int kRows>
EK_AVX512_BF16 bool backward(const RmsNormGradient<Bf16>& args, std::int64_t first,
                             std::int64_t width) {
  __m512 mean[kRows], rstd[kRows];
  for (int r = 0; r < kRows; ++r) {
    if (!mean_of(args, first + r, width, mean[r])) return false;
    rstd[r] = _mm512_set1_ps(static_cast<float>(args.rstd[first + r]));
  }
  std::int64_t i = 0;
  for (; i + 16 <= width; i += 16)
    columns_backward(args, first, width, i, mean, rstd, avx512::AllLanes{});
  const auto rest = avx512::tail_mask_16(width - i);
  if (rest != 0) columns_backward(args, first, width, i, mean, rstd, rest);
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
