// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// y = x w^T, or y = x w, of bfloat16 with float32 sums, rounded once; single-threaded, in AMX
/// tiles. Any number of rows, best with some hundred; oneDNN would compile one kernel per number of
/// rows. The bits of a row of y do not depend on other rows. All sizes are at least 1. y must not
/// overlap x or w. Requires has_amx().
struct GemmArguments {
  const Bf16* x = nullptr;  // [count, depth]
  const Bf16* w = nullptr;  // [width, depth], or, if `no_transpose`, [depth, width]
  Bf16* y = nullptr;        // [count, width]
  std::int64_t x_stride = 0, w_stride = 0, y_stride = 0;  // from row to row
  std::int64_t count = 0, depth = 0, width = 0;
  bool no_transpose = false;
  bool non_temporal = false;  // non-temporal stores of y, for a large y

  /// Bytes of scratch, which begins at a multiple of 64 bytes.
  std::int64_t scratch() const;
};

/// Computes y.
void gemm_amx(const GemmArguments& args, void* scratch);

}  // namespace evenkeel::kernels::cpu
