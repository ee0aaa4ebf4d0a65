// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "evenkeel/kernels/cpu/avx512/bf16_product_avx512.h"

/// Bf16Product in AMX tiles. The functions require has_amx().
namespace evenkeel::kernels::cpu {

/// Rows of x that are multiplied together: two tiles.
inline constexpr std::int64_t kAmxProductRows = 32;

/// Packs panels of w, in an order of its own.
/// \param pairs  [panels, panel_pairs()]; the panels are written
void pack_panels_amx(const Bf16Product& in, const ProductRange& panels, std::uint32_t* pairs);

/// Bytes of scratch for `rows` rows, which begins at a multiple of 64 bytes.
std::int64_t amx_product_scratch(const Bf16Product& in, std::int64_t rows);

/// Computes the rows of y in the columns of the panels. `sums` of the product must have room for a
/// multiple of kAmxProductRows rows.
/// \param pairs    of pack_panels_amx()
/// \param rows     the first is a multiple of kAmxProductRows
/// \param scratch  amx_product_scratch() bytes
void multiply_panels_amx(const Bf16Product& in, const std::uint32_t* pairs,
                         const ProductRange& rows, const ProductRange& panels, void* scratch);

}  // namespace evenkeel::kernels::cpu
