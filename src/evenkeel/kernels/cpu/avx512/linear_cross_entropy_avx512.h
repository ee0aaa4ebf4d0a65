// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "evenkeel/kernels/cpu/portable/linear_cross_entropy.h"

namespace evenkeel::kernels::cpu {

/// cross_entropy_row() of bfloat16 where has_avx512_bf16(), which compute 2^x and round to bfloat16
/// in one instruction each.
/// \return the loss; nullopt, without any effect: another processor, an ignored row, a soft cap, or
///         a scale that is not positive
std::optional<RowLoss> cross_entropy_row_avx512(const LogitsRow<Bf16>& row, bool with_gradient);

}  // namespace evenkeel::kernels::cpu
