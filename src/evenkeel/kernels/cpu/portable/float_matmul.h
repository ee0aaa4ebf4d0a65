// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

/// Parts of a float32 matrix product y (+)= x w, for one thread each. Operands are packed into
/// tiles: w into tiles of columns, and x into tiles of rows unless its rows are contiguous, each
/// for kMatmulDepth terms of the sums. For few rows of x, w is read where it lies. A sum adds its
/// terms one after the other, to y or to 0, so that no bit of y depends on how the work is split.
/// \source Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication"
namespace evenkeel::kernels::cpu {

/// Operands of y = x w or y += x w. Of each of x and w one stride is 1.
struct FloatMatmul {
  const float* x = nullptr;  // [rows, depth]
  std::int64_t x_row = 0, x_column = 0;
  const float* w = nullptr;  // [depth, columns]
  std::int64_t w_row = 0, w_column = 0;
  float* y = nullptr;  // [rows, columns], rows `y_row` apart
  std::int64_t y_row = 0;
  std::int64_t rows = 0, depth = 0, columns = 0;
};

inline constexpr std::int64_t kMatmulDepth = 1024;

/// Rows of a tile of x, and columns of a tile of w.
struct MatmulTile {
  std::int64_t rows = 0, columns = 0;
};

/// The tile for the vectors of this processor.
MatmulTile float_matmul_tile();

/// The tiles [first, last) of an axis.
struct TileRange {
  std::int64_t first = 0, last = 0;
};

/// Terms [first, first + count) of the sums; count <= kMatmulDepth.
struct MatmulTerms {
  std::int64_t first = 0, count = 0;
};

/// Packs tiles of rows of x: to[tile][term][row], zeros after the last row.
/// \param to  [tiles * MatmulTile::rows * terms]
void pack_rows(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& tiles, float* to);

/// Packs tiles of columns of w: to[tile][term][column], zeros after the last column.
/// \param to  [tiles * MatmulTile::columns * terms]
void pack_columns(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& tiles,
                  float* to);

/// y (+)= the products of tiles of rows and of columns.
/// \param rows     packed tiles, the first that of the range; nullptr: x is read where it lies,
///                 and its columns must be contiguous (x_column = 1)
/// \param columns  packed tiles, the first that of the range
/// \param is_added  false: y is overwritten
void multiply_tiles(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& row_tiles,
                    const float* rows, const TileRange& column_tiles, const float* columns,
                    bool is_added);

/// to[k] = from[k]
/// \param from, to  [width]
void widen_row(const Bf16* from, std::int64_t width, float* to);

/// Packs all rows of x as columns are packed: to[panel][term][row], zeros after the last row.
/// \param to  [panels * MatmulTile::columns * depth]
void pack_panels_of_rows(const FloatMatmul& in, float* to);

/// y (+)= x w for tiles of MatmulTile::rows columns of y. Columns of w are contiguous (w_row = 1)
/// and not packed.
/// \param panels  by pack_panels_of_rows()
void multiply_in_place(const FloatMatmul& in, const float* panels, const TileRange& tiles,
                       bool is_added);

}  // namespace evenkeel::kernels::cpu
