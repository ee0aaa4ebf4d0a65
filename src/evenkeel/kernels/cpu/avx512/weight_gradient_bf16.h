// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// The gradient of a weight, sum (+)= dy^T x, of bfloat16 with float32 sums; single-threaded. The
/// order of the sums is that of the rows for any block size. All sizes are at least 1. `sum` must
/// not overlap dy or x.
struct WeightGradient {
  /// The block size: rows and columns that are computed together.
  static constexpr std::int64_t kBlock = 512;

  const Bf16* dy = nullptr;                                  // [count, rows]
  const Bf16* x = nullptr;                                   // [count, columns]
  float* sum = nullptr;                                      // [rows, columns]
  std::int64_t dy_stride = 0, x_stride = 0, sum_stride = 0;  // from row to row
  std::int64_t count = 0, rows = 0, columns = 0;
  bool is_first = false;  // true: `sum` is overwritten; false: added to

  /// Bytes of scratch, which begins at a multiple of 64 bytes.
  static std::int64_t scratch();
};

}  // namespace evenkeel::kernels::cpu
