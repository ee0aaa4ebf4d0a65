// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// y = x w, or y += x w, of bfloat16 with float32 sums, rounded once: w is packed in panels, and
/// any thread may compute any rows and panels of y. A sum adds pairs of terms one after the other,
/// whatever the other rows and columns are. Subnormal values count as 0. All sizes are at least 1.
/// y must not overlap x or w. The functions of this file use vdpbf16ps and require
/// has_avx512_bf16(); those of amx/bf16_product_amx.h use AMX tiles.
///
/// A product of long sums may be several of these, one for each block of its terms: each continues
/// `sums`, and the last one rounds them. All blocks but the last have an even depth.
struct Bf16Product {
  static constexpr std::int64_t kPanel = 32;  // columns of a panel
  static constexpr std::int64_t kRows = 8;    // of x, which share each load of a panel

  const Bf16* x = nullptr;  // [rows, depth]
  const Bf16* w = nullptr;  // [depth, columns], or, if `is_transposed`, [columns, depth]
  Bf16* y = nullptr;        // [rows, columns]
  std::int64_t x_stride = 0, w_stride = 0, y_stride = 0;  // from row to row
  std::int64_t rows = 0, depth = 0, columns = 0;
  bool is_transposed = false, is_added = false;
  bool non_temporal = false;  // non-temporal stores of y, for a large y
  float* sums = nullptr;  // [rows, panels() * kPanel], of the previous blocks; nullptr: one block
  bool is_first = true, is_last = true;

  std::int64_t panels() const { return (columns + kPanel - 1) / kPanel; }
  /// Pairs of values of a packed panel.
  std::int64_t panel_pairs() const;
  /// Whether each row of y in the panel that begins at `column` is a cache line.
  bool is_cache_line(std::int64_t column) const;
};

/// The range [first, last) of rows or panels.
struct ProductRange {
  std::int64_t first = 0, last = 0;
};

/// Packs a panel of w.
/// \param pairs  [panels, panel_pairs()]; the panel is written
void pack_panel(const Bf16Product& in, std::int64_t panel, std::uint32_t* pairs);

/// Computes the rows of y in the columns of the panels.
void multiply_panels(const Bf16Product& in, const std::uint32_t* pairs, const ProductRange& rows,
                     const ProductRange& panels);

}  // namespace evenkeel::kernels::cpu
