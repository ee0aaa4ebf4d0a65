// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/portable/affine.h"

namespace evenkeel::kernels::cpu {

/// The functions of affine.h for bfloat16 where has_avx512_bf16(), in float32.

/// \return false on other processors: nothing is done
bool affine_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                       std::int64_t width);

/// \return false on other processors: nothing is done
bool affine_backward_avx512(const AffineGradient<Bf16>& args, std::int64_t rows,
                            std::int64_t width);

}  // namespace evenkeel::kernels::cpu
