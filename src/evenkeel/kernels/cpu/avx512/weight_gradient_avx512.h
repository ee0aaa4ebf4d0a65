// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/avx512/weight_gradient_bf16.h"

namespace evenkeel::kernels::cpu {

/// Computes the sum of a WeightGradient with the dot products of AVX-512. Requires
/// has_avx512_bf16().
/// \param scratch  WeightGradient::scratch() bytes
void add_weight_gradient_avx512(const WeightGradient& args, void* scratch);

}  // namespace evenkeel::kernels::cpu
