// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/linear_cross_entropy_avx512.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/avx512_target.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The largest logit, ignoring NaN.
EK_AVX512_BF16 float largest_of(const LogitsRow<Bf16>& row) {
  const __m512 least = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 even = least, odd = least;
  std::int64_t i = 0;
  for (; i + 32 <= row.width; i += 32) {
    prefetch_ahead(row.logits + i);
    even = _mm512_max_ps(avx512::load_16(row.logits + i), even);
    odd = _mm512_max_ps(avx512::load_16(row.logits + i + 16), odd);
  }
  for (; i < row.width; i += 16) {
    const auto mask = avx512::tail_mask_16(row.width - i);
    even = _mm512_mask_max_ps(even, mask, avx512::load_16(row.logits + i, mask), even);
  }
  return _mm512_reduce_max_ps(_mm512_max_ps(even, odd));
}

/// e^(z - max z) of sixteen logits, z = scale * logit, as 2^(rate * (logit - max_logit)) with
/// rate = scale * log2(e). The difference of two bfloat16 numbers has a small rounding error.
struct Exponential {
  __m512 max_logit, rate;
};
EK_AVX512_BF16_INLINE __m512 exp_of(__m512 logits, const Exponential& exponential) {
  return avx512::exp2_ps(
      _mm512_mul_ps(_mm512_sub_ps(logits, exponential.max_logit), exponential.rate));
}

/// The sum of the exponentials of a row: blocks of 1,024 values in float32, their sum in double.
EK_AVX512_BF16 double sum_of(const LogitsRow<Bf16>& row, const Exponential& exponential) {
  constexpr std::int64_t kInFloat = 1024;
  auto sum = avx512::zero_doubles();
  for (std::int64_t first = 0; first < row.width; first += kInFloat) {
    const auto end = std::min(first + kInFloat, row.width);
    __m512 part = _mm512_setzero_ps();
    auto i = first;
    for (; i + 16 <= end; i += 16) {
      part = _mm512_add_ps(part, exp_of(avx512::load_16(row.logits + i), exponential));
    }
    const auto mask = avx512::tail_mask_16(end - i);
    const __m512 rest = exp_of(avx512::load_16(row.logits + i, mask), exponential);
    sum = avx512::add(sum, avx512::to_doubles(_mm512_mask_add_ps(part, mask, part, rest)));
  }
  return avx512::reduce_add(sum);
}

/// logits = factor * e^(z - max z)
EK_AVX512_BF16 void store_gradient(const LogitsRow<Bf16>& row, const Exponential& exponential,
                                   float factor) {
  const __m512 factors = _mm512_set1_ps(factor);
  std::int64_t i = 0;
  for (; i + 32 <= row.width; i += 32) {
    const __m512 low = exp_of(avx512::load_16(row.logits + i), exponential);
    const __m512 high = exp_of(avx512::load_16(row.logits + i + 16), exponential);
    avx512::store_32(row.logits + i, _mm512_mul_ps(low, factors), _mm512_mul_ps(high, factors));
  }
  for (; i < row.width; i += 16) {
    const auto mask = avx512::tail_mask_16(row.width - i);
    const __m512 each = exp_of(avx512::load_16(row.logits + i, mask), exponential);
    avx512::store_16(row.logits + i, _mm512_mul_ps(each, factors), mask);
  }
}

EK_AVX512_BF16 RowLoss loss_of(const LogitsRow<Bf16>& row, bool with_gradient) {
  const float max_logit = largest_of(row);
  const Exponential exponential = {_mm512_set1_ps(max_logit),
                                   _mm512_set1_ps(static_cast<float>(row.scale * kLog2OfE))};
  const double sum = sum_of(row, exponential);
  const double below = row.scale * (load(row.logits + row.target) - static_cast<double>(max_logit));
  const double log_sum = std::log(sum);
  const double lse = log_sum + row.scale * static_cast<double>(max_logit);
  if (with_gradient) {
    const double factor = 1 + 2 * row.z_loss * lse;
    store_gradient(row, exponential, static_cast<float>(row.scale * factor / sum));
    store(row.logits + row.target, row.scale * (factor * std::exp(below) / sum - 1));
  }
  return {log_sum - below, lse * lse};
}

}  // namespace

std::optional<RowLoss> cross_entropy_row_avx512(const LogitsRow<Bf16>& row, bool with_gradient) {
  if (!has_avx512_bf16() || row.target < 0 || row.cap != 0 || !(row.scale > 0)) return std::nullopt;
  return loss_of(row, with_gradient);
}

}  // namespace evenkeel::kernels::cpu
