// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/simd.h"

/// Products of bfloat16 with float32 sums by one thread, in the tiles of AMX. For some hundred
/// rows, however many: libraries make a program for each number of rows, and do less than half of
/// their rate. A sum has one order, whatever rows are multiplied together. Only where has_amx().
namespace evenkeel::kernels::cpu {

/// y = x w^T, or y = x w; rounded once.
struct RowsProduct {
  const Bf16* x = nullptr;  // [count, depth]
  const Bf16* w = nullptr;  // [width, depth], or, if `is_straight`, [depth, width]
  Bf16* y = nullptr;        // [count, width]
  std::int64_t x_stride = 0, w_stride = 0, y_stride = 0;  // from row to row
  std::int64_t count = 0, depth = 0, width = 0;
  bool is_straight = false;
  bool is_far = false;  // y goes past the caches: much is written before any of it is read

  /// Bytes of scratch, which begins at a multiple of 64 bytes.
  std::int64_t scratch() const;
};

void multiply_rows_amx(const RowsProduct& of, void* scratch);

/// The gradient of a matrix, sum (+)= dy^T x.
struct WeightGradient {
  const Bf16* dy = nullptr;  // [count, rows]
  const Bf16* x = nullptr;   // [count, columns]
  float* sum = nullptr;      // [rows, columns]
  std::int64_t dy_stride = 0, x_stride = 0, sum_stride = 0;
  std::int64_t count = 0, rows = 0, columns = 0;
  bool is_first = false;  // what lies in `sum` does not count

  std::int64_t scratch() const;
};

void add_weight_gradient_amx(const WeightGradient& of, void* scratch);

}  // namespace evenkeel::kernels::cpu
