// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/simd.h"

namespace evenkeel::kernels::cpu {

/// y = x w^T, or y = x w, of bfloat16 with float32 sums, rounded once; by one thread, in the tiles
/// of AMX. For some hundred rows, however many: libraries make a program for each number of rows. A
/// row of y does not depend on which others are made with it. All sizes are at least 1, and y
/// overlaps nothing. Only where has_amx().
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

/// Makes it.
void multiply_rows_amx(const RowsProduct& of, void* scratch);

}  // namespace evenkeel::kernels::cpu
