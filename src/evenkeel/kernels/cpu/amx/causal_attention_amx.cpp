// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/causal_attention_amx.h"

#include "evenkeel/kernels/cpu/amx/amx_gemm.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_bf16.h"
#include "evenkeel/kernels/cpu/avx512/causal_attention_bf16_backward.h"

namespace evenkeel::kernels::cpu {

EK_AMX void causal_attention_amx(const AttentionSizes& sizes, const AttentionHead<Bf16>& head,
                                 float* scratch) {
  bf16_forward::run<AmxGemm>(sizes, head, scratch);
}

EK_AMX void causal_attention_amx_backward(const AttentionSizes& sizes,
                                          const AttentionGradient<Bf16>& head, float* scratch) {
  bf16_backward::run<AmxGemm>(sizes, head, scratch);
}

}  // namespace evenkeel::kernels::cpu
