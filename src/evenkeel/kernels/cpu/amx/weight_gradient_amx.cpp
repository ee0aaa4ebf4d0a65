// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/weight_gradient_amx.h"

#include "evenkeel/kernels/cpu/amx/amx_gemm.h"
#include "evenkeel/kernels/cpu/avx512/weight_gradient_bf16_blocks.h"

namespace evenkeel::kernels::cpu {

EK_AMX void add_weight_gradient_amx(const WeightGradient& args, void* scratch) {
  bf16_weight_gradient::run<AmxGemm>(args, scratch);
}

}  // namespace evenkeel::kernels::cpu
