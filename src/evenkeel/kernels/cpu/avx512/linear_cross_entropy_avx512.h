// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/kernels/cpu/portable/linear_cross_entropy.h"

namespace evenkeel::kernels::cpu {

/// cross_entropy_row() of bfloat16 on processors with AMX, whose instructions take powers of two
/// and round to bfloat16 in one step, for rows that count and have no cap.
/// \return nothing, and nothing is done, on other processors and for scales that are not positive
std::optional<double> cross_entropy_row_avx512(const LogitsRow<Bf16>& row, bool with_gradient);

}  // namespace evenkeel::kernels::cpu
