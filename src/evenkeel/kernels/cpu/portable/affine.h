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

/// One row of the backward pass.
template <typename T>
struct AffineGradient {
  const T* dy;                // [width]
  const T* x;                 // [width]
  const OpMathType<T>* gain;  // [width]
  T* dx;                      // [width], written
  double* dgain;              // [width], added to
  double* dbias;              // [width], added to
};

/// dx = gain * dy, dgain += dy * x and dbias += dy.
template <typename T>
void affine_row_backward(const AffineGradient<T>& row, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
