// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// y = gain * x * rstd with rstd = 1 / sqrt(mean(x^2) + epsilon), for one row.
///
/// \tparam T       double, float or Bf16
/// \param x, y     width contiguous values each, which do not overlap
/// \param gain     width values
/// \return rstd, which the backward pass needs
/// \source Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4
template <typename T>
double rms_norm_row(const T* x, const OpMathType<T>* gain, T* y, std::int64_t width,
                    double epsilon);

/// sum = residual + branch, rounded, and then rms_norm_row() of it, for one row; sum and y overlap
/// nothing.
template <typename T>
double add_rms_norm_row(const T* residual, const T* branch, const OpMathType<T>* gain, T* sum, T* y,
                        std::int64_t width, double epsilon);

/// Rows of the backward pass, contiguous in memory.
template <typename T>
struct RmsNormGradient {
  const T* dy;    // [rows, width]
  const T* skip;  // [rows, width], gradient of x from the residual connection; may be null
  const T* x;     // [rows, width]
  const OpMathType<T>* gain;  // [width]
  const double* rstd;         // [rows]
  T* dx;                      // [rows, width], written
  double* dgain;              // [width], added to
};

/// dx = skip + rstd * (g - x_hat * mean(g * x_hat)) and dgain += dy * x_hat,
/// with g = dy * gain and x_hat = x * rstd.
template <typename T>
void rms_norm_backward(const RmsNormGradient<T>& args, std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
