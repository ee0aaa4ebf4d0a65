// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/portable/bounded.h"

namespace evenkeel::kernels::cpu {

/// The functions of bounded.h for bfloat16 where has_avx512_bf16(), in float32.

/// \return false on other processors: nothing is done
bool bounded_row_avx512(const Bf16* x, const float* gain, const float* bias, Bf16* y,
                        std::int64_t width, const BoundedParameters& parameters);

/// \return false on other processors, and where a gradient leaves the range of float32: nothing
///         is done
bool bounded_row_backward_avx512(const BoundedGradient<Bf16>& row, std::int64_t width,
                                 const BoundedParameters& parameters);

}  // namespace evenkeel::kernels::cpu
