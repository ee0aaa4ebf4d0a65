// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// The gradient of a matrix, sum (+)= dy^T x, of bfloat16 with float32 sums in the order of the
/// rows, whatever part of it is made at once; by one thread, in the tiles of AMX. All sizes are at
/// least 1, and `sum` overlaps nothing. Only where has_amx().
struct WeightGradient {
  /// Rows and columns that are made at once, where there are as many.
  static constexpr std::int64_t kBlock = 512;

  const Bf16* dy = nullptr;                                  // [count, rows]
  const Bf16* x = nullptr;                                   // [count, columns]
  float* sum = nullptr;                                      // [rows, columns]
  std::int64_t dy_stride = 0, x_stride = 0, sum_stride = 0;  // from row to row
  std::int64_t count = 0, rows = 0, columns = 0;
  bool is_first = false;  // what lies in `sum` does not count

  /// Bytes of scratch, which begins at a multiple of 64 bytes.
  static std::int64_t scratch();
};

/// Computes it.
void add_weight_gradient_amx(const WeightGradient& args, void* scratch);

}  // namespace evenkeel::kernels::cpu
