// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"

/// few_rows_matmul() in AMX tiles, of at most kAmxFewRows rows. A sum adds pairs of terms one after
/// the other, as in amx/bf16_product_amx.h, so the bits are the same. The functions require
/// has_amx().
namespace evenkeel::kernels::cpu {

inline constexpr std::int64_t kAmxFewRows = 32;
/// Columns of y that are computed together.
inline constexpr std::int64_t kAmxFewColumns = 32;

/// Pairs of values of the operand of few_rows_matmul_amx().
std::int64_t few_rows_amx_pairs(std::int64_t rows, std::int64_t depth);

/// The operand x of few_rows_matmul_amx().
/// \param x      [rows, depth]
/// \param pairs  few_rows_amx_pairs() values; written
void few_rows_amx_operand(const Bf16* x, std::int64_t rows, std::int64_t depth,
                          std::uint32_t* pairs);

/// Columns [begin, end) of y.
/// \param in  x by few_rows_amx_operand()
void few_rows_matmul_amx(const FewRowsMatmul<Bf16, std::uint32_t>& in, std::int64_t begin,
                         std::int64_t end);

}  // namespace evenkeel::kernels::cpu
