// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// Row statistics that are saved for the backward pass.
struct RowMoments {
  double mean;
  double rstd;  // 1 / sqrt(variance + epsilon)
};

/// y = gain * (x - mean(x)) * rstd + bias with rstd = 1 / sqrt(mean((x - mean(x))^2) + epsilon),
/// for one row; a row of equal values gives exactly the bias.
///
/// \tparam T          double, float or Bf16
/// \param x, y        width contiguous values each, which do not overlap
/// \param gain, bias  width values each
/// \source Ba, Kiros and Hinton 2016, arXiv:1607.06450, eq. 4
template <typename T>
RowMoments layer_norm_row(const T* x, const OpMathType<T>* gain, const OpMathType<T>* bias, T* y,
                          std::int64_t width, double epsilon);

/// Rows of the backward pass, contiguous in memory.
template <typename T>
struct LayerNormGradient {
  const T* dy;                // [rows, width]
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  const double* mean;         // [rows]
  const double* rstd;         // [rows]
  T* dx;                      // [rows, width], written
  double* dgain;              // [width], added to
  double* dbias;              // [width], added to
};

/// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)), dgain += dy * x_hat and dbias += dy,
/// with g = dy * gain and x_hat = (x - mean(x)) * rstd.
template <typename T>
void layer_norm_backward(const LayerNormGradient<T>& args, std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
