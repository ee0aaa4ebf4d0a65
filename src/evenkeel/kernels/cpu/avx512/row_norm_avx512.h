// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/portable/row_norm.h"

namespace evenkeel::kernels::cpu {

/// The functions of row_norm.h for bfloat16 where has_avx512_bf16(), in float32. They refuse on
/// other processors, and if a value leaves the safe range of float32 (row_common.h). After a
/// refusal results may be partly written, and no gradient has changed: the caller then computes in
/// double.

/// \return false: refused
bool row_norm_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                         std::int64_t width, const RowDenominator& denominator);

/// Processes rows from `first` on, four at a time, so that the gradients of gain and bias are
/// loaded and stored once for four rows.
/// \return number of rows that are done; the next row is refused
std::int64_t row_norm_backward_avx512(const RowNormGradient<Bf16>& args, std::int64_t first,
                                      std::int64_t rows, const RowDenominator& denominator);

}  // namespace evenkeel::kernels::cpu
