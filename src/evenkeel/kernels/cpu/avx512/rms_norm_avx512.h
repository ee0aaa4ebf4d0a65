// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/kernels/cpu/portable/rms_norm.h"

namespace evenkeel::kernels::cpu {

/// The functions of rms_norm.h for bfloat16 where has_avx512_bf16(), which round to bfloat16 in one
/// instruction. The functions refuse on other processors, and if a value leaves the safe range of
/// float32 (row_common.h). After a refusal results may be partly written, and no gradient has
/// changed: the caller then calls the portable version.

/// \return rstd; nullopt: refused
std::optional<double> rms_norm_row_avx512(const Bf16* x, const float* gain, Bf16* y,
                                          std::int64_t width, double epsilon);

/// sum = residual + branch. \return false: refused
bool add_row_avx512(const Bf16* residual, const Bf16* branch, Bf16* sum, std::int64_t width);

/// Processes rows from `first` on, four at a time, so that the gradient of the gain is loaded and
/// stored once for four rows.
/// \return number of rows that are done; the next row is refused
std::int64_t rms_norm_backward_avx512(const RmsNormGradient<Bf16>& args, std::int64_t first,
                                      std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
