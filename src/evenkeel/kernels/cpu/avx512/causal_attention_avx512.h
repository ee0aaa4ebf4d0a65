// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// causal_attention() of bfloat16 with the dot products of AVX-512: GEMMs of bfloat16 with float32
/// sums, softmax in float32. Attention probabilities and their gradients are rounded to bfloat16
/// before the GEMMs with values, queries and keys. Requires has_avx512_bf16().
namespace evenkeel::kernels::cpu {

/// Floats of scratch, which begins at a multiple of 64 bytes; here and in AMX tiles.
std::int64_t causal_attention_bf16_scratch(const AttentionSizes& sizes);
std::int64_t causal_attention_bf16_backward_scratch(const AttentionSizes& sizes);
BackwardBlocks causal_attention_bf16_backward_blocks();

void causal_attention_avx512(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                             float* scratch);
void causal_attention_avx512_backward(const AttentionSizes& sizes,
                                      const AttentionGradient<Bf16>& head, float* scratch);

}  // namespace evenkeel::kernels::cpu
