// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/qkv_norm_rope.h"

namespace evenkeel::kernels::cpu {

/// All heads of a token, where has_avx512_bf16(). Each head is loaded and stored once. One
/// instruction computes the square roots of four heads, and one rounds to bfloat16. The gradient of
/// the gain is loaded and stored once for all heads. Heads of float32 have the bits of the loops of
/// norm_rope() and norm_rope_backward() on processors with fused multiply-adds.
/// \return false, without a change of the gradient, where the loops must compute the heads: another
///         processor, a head width that is no multiple of 16 or above 256, values outside the safe
///         range of float32 (row_common.h), neither norm nor rotation, or, for float32 backward, no
///         norm
bool norm_rope_avx512(const Heads<Bf16>& heads);
bool norm_rope_avx512(const Heads<float>& heads);
bool norm_rope_backward_avx512(const HeadsGradient<Bf16>& heads);
bool norm_rope_backward_avx512(const HeadsGradient<float>& heads);

}  // namespace evenkeel::kernels::cpu
