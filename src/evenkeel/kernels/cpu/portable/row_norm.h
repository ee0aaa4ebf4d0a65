// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// The denominator of a row norm that is neither rms_norm nor layer_norm.
struct RowDenominator {
  enum class EpsilonAt { inside, outside, clamp };

  bool is_centred = false;         // center x first
  std::int64_t partial_width = 0;  // the statistic is over the first values only (pRMSNorm)
  bool is_length = false;          // sum of squares (L2 norm); false: mean of squares
  double epsilon = 0;              // e
  EpsilonAt epsilon_at = EpsilonAt::inside;  // 1/sqrt(s + e), 1/(sqrt(s) + e) or 1/max(sqrt(s), e)
  bool absmax8 = false;                      // first divide x by max|x| / 8 (detached)
};

/// rho = 1/denominator of a row, and slope = -d(rho)/d(s) * 2 / (rho^2 * count of the mean).
struct RowScale {
  double rho, slope;
};

/// \param squares  the sum of squares that s is of
/// \param largest  max|x|; used with absmax8
RowScale row_scale_of(double squares, double largest, const RowDenominator& denominator);

/// y = gain * (x - mean) / denominator + bias, for one row, in double; bfloat16 in float32 where
/// the processor has AVX-512 bfloat16.
///
/// \tparam T          double, float or Bf16; squares of doubles beyond 1e154 overflow
/// \param x, y        width contiguous values each, which do not overlap
/// \param gain, bias  width values each
template <typename T>
void row_norm_row(const T* x, const OpMathType<T>* gain, const OpMathType<T>* bias, T* y,
                  std::int64_t width, const RowDenominator& denominator);

/// Rows of the backward pass.
template <typename T>
struct RowNormGradient {
  const T* dy;                // [rows, stride], the first `width` values of each row
  const T* x;                 // the same
  const OpMathType<T>* gain;  // [width]
  T* dx;                      // as dy; written
  double* dgain;              // [width], added to; null: not required
  double* dbias;              // the same
  std::int64_t stride, width;
};

/// With rho = 1/denominator, g = dy * gain and x_hat = (x - mean) rho:
///   dx = rho (g - mean(g) if centred) - (i < partial_width) x_hat * slope * sum(g * x_hat),
/// dgain += dy * x_hat, dbias += dy.
template <typename T>
void row_norm_backward(const RowNormGradient<T>& args, std::int64_t rows,
                       const RowDenominator& denominator);

}  // namespace evenkeel::kernels::cpu
