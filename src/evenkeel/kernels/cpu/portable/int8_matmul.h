// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// Operands of y = x w^T with int8 weights, of which each row has a scale:
///
///   y[i, j] = x_scale[i] * w_scale[j] * sum over k of x[i, k] * w[j, k]
///
/// The sum is an exact integer, so that y has the same bits on every processor. Each row of w is
/// read once from memory, and not packed.
template <typename T>
struct Int8Matmul {
  const std::int16_t* x = nullptr;  // [rows, depth], by quantize_to_int16()
  const float* x_scale = nullptr;   // [rows]
  const std::int8_t* w = nullptr;   // [columns, depth], rows `w_stride` apart, -127 to 127
  const float* w_scale = nullptr;   // [columns]
  T* y = nullptr;                   // [rows, columns], rows `y_stride` apart; written
  std::int64_t rows = 0, depth = 0, w_stride = 0, y_stride = 0;

  /// Writes y[row, column] of the sum of its products.
  [[gnu::always_inline]] void store_scaled(std::int64_t row, std::int64_t column,
                                           std::int64_t sum) const {
    const auto scale = static_cast<double>(x_scale[row]) * static_cast<double>(w_scale[column]);
    store(y + row * y_stride + column, static_cast<double>(sum) * scale);
  }
};

/// The nearest 16-bit integers of a row: scale = max |row| / 32767, to[k] = round(row[k] / scale),
/// ties to even.
/// \param row  [depth]
/// \param to   [depth]; written
/// \return the scale; NaN if a value is not finite, 0 if all are 0 or below 1e-33
template <typename T>
float quantize_to_int16(const T* row, std::int64_t depth, std::int16_t* to);

/// Columns [begin, end) of y, rounded once; by int8_matmul_avx512() where the processor has VNNI
/// and int8_matmul_avx2() where it has AVX2. T is float or Bf16.
template <typename T>
void int8_matmul(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end);

/// int8_matmul() by plain loops.
template <typename T>
void int8_matmul_portable(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
