// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// causal_attention() of bfloat16 in AMX tiles: GEMMs of bfloat16 with float32 sums, softmax in
/// float32. Attention probabilities and their gradients are rounded to bfloat16 before the GEMMs
/// with values, queries and keys. Requires has_amx().
namespace evenkeel::kernels::cpu {

// Scratch: causal_attention_bf16_scratch() and causal_attention_bf16_backward_scratch() of
// causal_attention_avx512.h.
void causal_attention_amx(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                          float* scratch);
void causal_attention_amx_backward(const AttentionSizes& sizes, const AttentionGradient<Bf16>& head,
                                   float* scratch);

}  // namespace evenkeel::kernels::cpu
