// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/weight_gradient_avx512.h"

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/avx512_gemm.h"
#include "evenkeel/kernels/cpu/avx512/weight_gradient_bf16_blocks.h"

namespace evenkeel::kernels::cpu {

std::int64_t WeightGradient::scratch() {
  return sizeof(bf16_weight_gradient::Scratch);
}

EK_AMX void add_weight_gradient_avx512(const WeightGradient& args, void* scratch) {
  bf16_weight_gradient::run<Avx512Gemm>(args, scratch);
}

}  // namespace evenkeel::kernels::cpu
