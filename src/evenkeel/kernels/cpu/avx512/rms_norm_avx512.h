// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/kernels/cpu/portable/rms_norm.h"

namespace evenkeel::kernels::cpu {

/// Rows of rms_norm.h, for bfloat16 on processors with AMX, whose instructions round to bfloat16 in
/// one step. Not on others, and not where values would leave the normal range of float32
/// (row_common.h): then results are written in part or not at all, and nothing is added to
/// gradients.

/// \return rstd, or nothing
std::optional<double> rms_norm_row_avx512(const Bf16* x, const float* gain, Bf16* y,
                                          std::int64_t width, double epsilon);

/// sum = residual + branch. \return whether it is done
bool add_row_avx512(const Bf16* residual, const Bf16* branch, Bf16* sum, std::int64_t width);

/// From row `first` on, four at a time: the gradient of the gain is read and written once for them.
/// \return how many rows are done, up to the first that does not fit float32
std::int64_t rms_norm_backward_avx512(const RmsNormGradient<Bf16>& args, std::int64_t first,
                                      std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
