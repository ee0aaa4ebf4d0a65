// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "evenkeel/kernels/cpu/portable/layer_norm.h"

namespace evenkeel::kernels::cpu {

/// Rows of layer_norm.h, for bfloat16 on processors with AMX, whose instructions round to bfloat16
/// in one step. Not on others, and not where values would leave the normal range of float32
/// (row_common.h): then
/// results are written in part or not at all, and nothing is added to gradients.

/// \return the moments, or nothing
std::optional<RowMoments> layer_norm_row_avx512(const Bf16* x, const float* gain, const float* bias,
                                                Bf16* y, std::int64_t width, double epsilon);

/// From row `first` on, four at a time: the gradients of gain and bias are read and written once
/// for them. \return how many rows are done, up to the first that does not fit float32
std::int64_t layer_norm_backward_avx512(const LayerNormGradient<Bf16>& args, std::int64_t first,
                                        std::int64_t rows, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
