// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/causal_attention_avx512.h"

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_gemm.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_bf16.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_bf16_backward.h"

namespace evenkeel::kernels::cpu {

std::int64_t causal_attention_bf16_scratch(const AttentionSizes& sizes) {
  return bf16_forward::scratch_size(sizes);
}

BackwardBlocks causal_attention_bf16_backward_blocks() {
  return bf16_backward::blocks();
}

std::int64_t causal_attention_bf16_backward_scratch(const AttentionSizes& sizes) {
  return bf16_backward::scratch_size(sizes);
}

EK_AMX void causal_attention_avx512(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                    float* scratch) {
  bf16_forward::run<Avx512Gemm>(sizes, head, scratch);
}

EK_AMX void causal_attention_avx512_backward(const AttentionSizes& sizes,
                                             const AttentionGradient<Bf16>& head, float* scratch) {
  bf16_backward::run<Avx512Gemm>(sizes, head, scratch);
}

}  // namespace evenkeel::kernels::cpu
