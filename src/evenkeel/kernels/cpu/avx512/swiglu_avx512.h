// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/swiglu.h"

namespace evenkeel::kernels::cpu {

/// swiglu_row() and its backward pass for bfloat16 where has_avx512_bf16(), which compute 2^x and
/// round to bfloat16 in one instruction each.
/// \return false, without any effect, on other processors
bool swiglu_row_avx512(const Bf16* up, const Bf16* gate, Bf16* y, std::int64_t width);
bool swiglu_row_backward_avx512(const SwigluGradient<Bf16>& row, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
