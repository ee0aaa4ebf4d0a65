// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// y = gain * x + bias, for one row.
///
/// \tparam T          double, float or Bf16
/// \param x, y        width contiguous values each, which do not overlap
/// \param gain, bias  width values each
template <typename T>
void affine_row(const T* x, const OpMathType<T>* gain, const OpMathType<T>* bias, T* y,
                std::int64_t width);

/// Rows of the backward pass, contiguous in memory.
template <typename T>
struct AffineGradient {
  const T* dy;                // [rows, width]
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  T* dx;                      // [rows, width], written
  double* dgain;              // [width], added to; null: not required
  double* dbias;              // the same
};

/// dx = gain * dy, dgain += dy * x and dbias += dy.
template <typename T>
void affine_backward(const AffineGradient<T>& args, std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
