// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

/// Linear layers with int8 weights, for inference.
namespace evenkeel::ops {

/// The rows of x up to which the CPU multiplies int8 values; above, dequantized ones are faster.
inline constexpr std::int64_t kFewRowsOfInt8 = 64;

/// A weight with one scale per row: w[r, c] ~ scale[r] * values[r, c].
struct Int8Weight {
  at::Tensor values;  // [..., rows, columns], int8, -127 to 127
  at::Tensor scale;   // [..., rows], float32

  /// Rows [first, first + rows) of a weight [rows, columns].
  Int8Weight narrow(std::int64_t first, std::int64_t rows) const {
    return {values.narrow(0, first, rows), scale.narrow(0, first, rows)};
  }
  /// One matrix of a weight [E, rows, columns].
  Int8Weight select(std::int64_t index) const {
    return {values.select(0, index), scale.select(0, index)};
  }
};

/// The nearest int8 weight: scale = max |w| of the row / 127, values = round(w / scale), ties to
/// even. A row of zeros has the scale 0. A row with NaN or infinity has values and a scale whose
/// products are NaN.
/// \param w  [..., rows, columns], float32, bfloat16 or float64
Int8Weight quantize_rows(const at::Tensor& w);

/// scale * values, computed in float32, or in float64 for this dtype.
/// \return [..., rows, columns], of this dtype
at::Tensor dequantized(const Int8Weight& w, at::ScalarType dtype);

/// x W^T of an int8 weight; not differentiable.
///
/// On the CPU, x of at most kFewRowsOfInt8 rows in float32 or bfloat16 is rounded to 16-bit
/// integers, with one scale per row, and multiplied as integers; the sums are exact. Other x are
/// multiplied with blocks of dequantized().
///
/// \param x  [..., columns], float32, bfloat16 or float64
/// \param w  values [rows, columns]
/// \return [..., rows], the dtype of x
/// \throws c10::Error if shapes, dtypes or devices do not fit
at::Tensor int8_linear(const at::Tensor& x, const Int8Weight& w);

}  // namespace evenkeel::ops
