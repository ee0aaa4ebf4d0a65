// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/avx512/weight_gradient_bf16.h"

namespace evenkeel::kernels::cpu {

/// Computes the sum of a WeightGradient in AMX tiles. Requires has_amx().
/// \param scratch  WeightGradient::scratch() bytes
void add_weight_gradient_amx(const WeightGradient& args, void* scratch);

}  // namespace evenkeel::kernels::cpu
