// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

/// Norm and rotation of the heads of one token, each `width` values, one after another.
namespace evenkeel::kernels::cpu {

/// y = R(gain * x * rstd), rstd = 1 / sqrt(mean(x^2) + epsilon), for each head; R rotates the pair
/// (a, b) = (y_j, y_{j + width/2}) into (a cos_j - b sin_j, b cos_j + a sin_j).
template <typename T>
struct Heads {
  const T* x;                    // [count, width]
  const OpMathType<T>* gain;     // [width]; null: no norm
  const OpMathType<T>* cos_sin;  // [2, width / 2]: cosines, then sines; null: no rotation
  T* y;                          // [count, width], written; does not overlap x
  double* rstd;                  // [count], written where there is a norm
  std::int64_t count, width;
  double epsilon;
};

/// \tparam T  double, float or Bf16
/// \source Henry et al. 2020, arXiv:2010.04245 (norms of heads); Su et al. 2021, arXiv:2104.09864,
///         eq. 34 (rotation)
template <typename T>
void norm_rope(const Heads<T>& heads);

/// The backward pass of one token.
template <typename T>
struct HeadsGradient {
  const T* dy;                   // [count, width]
  const T* x;                    // [count, width]
  const OpMathType<T>* gain;     // [width]; null: no norm
  const OpMathType<T>* cos_sin;  // [2, width / 2]; null: no rotation
  const double* rstd;            // [count]
  T* dx;                         // [count, width], written; does not overlap dy
  double* dgain;                 // [width], added to
  double* scratch;               // [width]
  std::int64_t count, width;
};

/// g = R^T dy; dgain += g * x_hat; dx = rstd * (g * gain - x_hat * mean(g * gain * x_hat)),
/// x_hat = x * rstd; dx = g without a norm.
template <typename T>
void norm_rope_backward(const HeadsGradient<T>& heads);

}  // namespace evenkeel::kernels::cpu
