// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/qkv_norm_rope.h"

namespace evenkeel::kernels::cpu {

/// All heads of a token, for bfloat16 on processors with AMX: their instructions round to bfloat16
/// in one step. Each head is read and written once. The square roots of four heads are one
/// instruction; the gradient of the gain is read and written once for all heads.
/// \return whether it is done: not on other processors, nor for heads that fill no whole vectors of
///         16 values or more than 16 of these, nor for values that do not fit float32
///         (row_common.h); then nothing is added to the gradient
bool norm_rope_avx512(const Heads<Bf16>& heads);
bool norm_rope_backward_avx512(const HeadsGradient<Bf16>& heads);

}  // namespace evenkeel::kernels::cpu
