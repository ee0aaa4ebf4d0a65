// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/heads.h"

namespace evenkeel::kernels::cpu {

/// One head of norm_and_turn() and of its backward pass, for bfloat16 on processors with AMX: their
/// instructions round to bfloat16 in one step, and leave out what a head of 48 values does not
/// fill.
/// \return whether it is done: not on other processors, nor for heads of more than 512 values or
///         of values that are not moderate (row.h)
bool norm_and_turn_in_lanes(const Heads<Bf16>& heads, std::int64_t h);
bool norm_and_turn_backward_in_lanes(const HeadsGradient<Bf16>& heads, std::int64_t h);

}  // namespace evenkeel::kernels::cpu
