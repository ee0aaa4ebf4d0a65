// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// y = up * silu(gate), silu(z) = z / (1 + e^-z), in float32 (float64 for double), for one row.
///
/// \tparam T  double, float or Bf16
/// \param up, gate, y  width contiguous values each; y overlaps neither
/// \source Shazeer 2020, arXiv:2002.05202, eq. 6
template <typename T>
void swiglu_row(const T* up, const T* gate, T* y, std::int64_t width);

/// One row of the backward pass.
template <typename T>
struct SwigluGradient {
  const T* dy;     // [width]
  const T* up;     // [width]
  const T* gate;   // [width]
  T* dup;          // [width], written
  T* dgate;        // [width], written
  T* y = nullptr;  // [width], written with the bits of swiglu_row(), unless null; may be dy itself
};

/// dup = dy * silu(gate) and dgate = dy * up * s * (1 + gate * (1 - s)), s = 1 / (1 + e^-gate).
template <typename T>
void swiglu_row_backward(const SwigluGradient<T>& row, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
