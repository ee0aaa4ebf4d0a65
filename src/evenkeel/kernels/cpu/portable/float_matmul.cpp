// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/float_matmul.h"

#include <algorithm>
#include <cstring>

#include "evenkeel/kernels/cpu/common/isa_versions.h"
#include "evenkeel/kernels/cpu/common/register_tile.h"

namespace evenkeel::kernels::cpu {

namespace {

/// Copies a tile of `size` lines, transposed: to[term][line], zeros after `lines`.
/// \param line, term  strides of `from`
template <std::int64_t kSize>
[[gnu::always_inline]] inline void pack_tile(const float* from, std::int64_t line,
                                             std::int64_t term, std::int64_t lines,
                                             std::int64_t terms, float* to) {
  if (lines < kSize) {
    for (std::int64_t k = 0; k < terms; ++k) {
      for (std::int64_t i = 0; i < kSize; ++i) {
        to[k * kSize + i] = i < lines ? from[i * line + k * term] : 0;
      }
    }
  } else if (line == 1) {
    // Of a constant size, memcpy becomes a few instructions and copy_n a call of memmove.
    for (std::int64_t k = 0; k < terms; ++k) {
      std::memcpy(to + k * kSize, from + k * term, kSize * sizeof(float));
    }
  } else {
    for (std::int64_t k = 0; k < terms; ++k) {
#pragma GCC unroll 32
      for (std::int64_t i = 0; i < kSize; ++i) to[k * kSize + i] = from[i * line + k];
    }
  }
}

/// The arguments of multiply_tiles().
struct Tiles {
  MatmulTerms terms;
  TileRange row_tiles, column_tiles;
  const float *rows, *columns;
  bool is_added;
};

/// The functions of the header, for vectors of kBytes.
template <int kBytes>
struct FloatMatmulPass {
  using Shape = TileShape<float, kBytes>;
  using V = typename Shape::V;
  static constexpr std::int64_t kRows = Shape::kRows, kColumns = Shape::kPanel;

  [[gnu::always_inline]] static void pack_rows(const FloatMatmul& in, const MatmulTerms& terms,
                                               const TileRange& tiles, float* to) {
    for (auto tile = tiles.first; tile < tiles.last; ++tile) {
      pack_tile<kRows>(in.x + tile * kRows * in.x_row + terms.first * in.x_column, in.x_row,
                       in.x_column, std::min(kRows, in.rows - tile * kRows), terms.count,
                       to + (tile - tiles.first) * kRows * terms.count);
    }
  }

  [[gnu::always_inline]] static void pack_columns(const FloatMatmul& in, const MatmulTerms& terms,
                                                  const TileRange& tiles, float* to) {
    for (auto tile = tiles.first; tile < tiles.last; ++tile) {
      pack_tile<kColumns>(in.w + tile * kColumns * in.w_column + terms.first * in.w_row,
                          in.w_column, in.w_row, std::min(kColumns, in.columns - tile * kColumns),
                          terms.count, to + (tile - tiles.first) * kColumns * terms.count);
    }
  }

  [[gnu::always_inline]] static void multiply(const FloatMatmul& in, const Tiles& tiles) {
    if (tiles.rows != nullptr) {
      return multiply_by_columns<LeftLayout::column_major>(in, tiles, tiles.row_tiles, tiles.rows);
    }
    const auto whole = std::min(tiles.row_tiles.last, in.rows / kRows);
    const float* const x = in.x + tiles.row_tiles.first * kRows * in.x_row + tiles.terms.first;
    multiply_by_columns<LeftLayout::row_major>(in, tiles, {tiles.row_tiles.first, whole}, x);
    if (whole == tiles.row_tiles.last) return;
    const TileRange last{whole, whole + 1};  // with fewer rows, beyond which nothing may be read
    alignas(64) float packed[kRows * kMatmulDepth];
    pack_rows(in, tiles.terms, last, packed);
    multiply_by_columns<LeftLayout::column_major>(in, tiles, last, packed);
  }

  /// y^T = w^T x^T in tiles of kRows columns of y and kColumns rows.
  [[gnu::always_inline]] static void multiply_in_place(const FloatMatmul& in, const float* panels,
                                                       const TileRange& tiles, bool is_added) {
    for (auto tile = tiles.first; tile < tiles.last; ++tile) {
      const auto column = tile * kRows;
      if (column + kRows <= in.columns) {
        multiply_columns<static_cast<int>(kRows)>(in, panels, column, is_added);
      } else {
        for (auto j = column; j < in.columns; ++j) multiply_columns<1>(in, panels, j, is_added);
      }
    }
  }

 private:
  /// The products of row tiles and all column tiles.
  /// \param left  the first row tile: packed, or of x
  template <LeftLayout kLeft>
  [[gnu::always_inline]] static void multiply_by_columns(const FloatMatmul& in, const Tiles& tiles,
                                                         const TileRange& row_tiles,
                                                         const float* left) {
    const auto count = tiles.terms.count;
    const auto step = kRows * (kLeft == LeftLayout::row_major ? in.x_row : count);
    for (auto column = tiles.column_tiles.first; column < tiles.column_tiles.last; ++column) {
      const float* const right =
          tiles.columns + (column - tiles.column_tiles.first) * kColumns * count;
      for (auto row = row_tiles.first; row < row_tiles.last; ++row) {
        multiply_one<kLeft>(in, row * kRows, column * kColumns,
                            left + (row - row_tiles.first) * step, right, tiles);
      }
    }
  }

  /// kCount columns of y: panel by panel, the last one with half of the vectors if that suffices.
  template <int kCount>
  [[gnu::always_inline]] static void multiply_columns(const FloatMatmul& in, const float* panels,
                                                      std::int64_t column, bool is_added) {
    for (std::int64_t row = 0; row < in.rows; row += kColumns) {
      const float* const panel = panels + row * in.depth;
      if (in.rows - row <= kColumns / 2) {
        multiply_panel<kCount, 1>(in, panel, row, column, is_added);
      } else {
        multiply_panel<kCount, 2>(in, panel, row, column, is_added);
      }
    }
  }

  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void multiply_panel(const FloatMatmul& in, const float* panel,
                                                    std::int64_t row, std::int64_t column,
                                                    bool is_added) {
    const auto rows = std::min(kColumns, in.rows - row);
    float* const y = in.y + row * in.y_row + column;
    alignas(64) float buffer[kCount * kColumns] = {};
    for (std::int64_t i = 0; is_added && i < rows; ++i) {
      for (int j = 0; j < kCount; ++j) buffer[j * kColumns + i] = y[i * in.y_row + j];
    }
    matmul_tile<V, kCount, kVectors, LeftLayout::row_major, true>(
        in.w + column * in.w_column, in.w_column, panel, kColumns, buffer, kColumns, in.depth);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (int j = 0; j < kCount; ++j) y[i * in.y_row + j] = buffer[j * kColumns + i];
    }
  }

  /// One tile of y, at (row, column). A tile that is cut off by an end of y is computed in a
  /// buffer.
  template <LeftLayout kLeft>
  [[gnu::always_inline]] static void multiply_one(const FloatMatmul& in, std::int64_t row,
                                                  std::int64_t column, const float* left,
                                                  const float* right, const Tiles& tiles) {
    const auto rows = std::min(kRows, in.rows - row),
               columns = std::min(kColumns, in.columns - column);
    float* const y = in.y + row * in.y_row + column;
    const bool is_whole = rows == kRows && columns == kColumns;
    const auto stride = kLeft == LeftLayout::row_major ? in.x_row : kRows;
    if (is_whole) return multiply_tile<kLeft>(left, stride, right, y, in.y_row, tiles);
    alignas(64) float buffer[kRows * kColumns] = {};
    for (std::int64_t i = 0; tiles.is_added && i < rows; ++i) {
      std::copy_n(y + i * in.y_row, columns, buffer + i * kColumns);
    }
    multiply_tile<kLeft>(left, stride, right, buffer, kColumns, tiles);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::copy_n(buffer + i * kColumns, columns, y + i * in.y_row);
    }
  }

  template <LeftLayout kLeft>
  [[gnu::always_inline]] static void multiply_tile(const float* left, std::int64_t stride,
                                                   const float* right, float* y, std::int64_t y_row,
                                                   const Tiles& tiles) {
    constexpr int kTileRows = static_cast<int>(kRows);
    constexpr std::int64_t kLine = 64 / sizeof(float);
    for (int i = 0; i < kTileRows; ++i) {  // read by the first store of each line otherwise
      for (std::int64_t j = 0; j < kColumns; j += kLine) __builtin_prefetch(y + i * y_row + j, 1);
    }
    if (tiles.is_added) {
      matmul_tile<V, kTileRows, 2, kLeft, true>(left, stride, right, kColumns, y, y_row,
                                                tiles.terms.count);
    } else {
      matmul_tile<V, kTileRows, 2, kLeft, false>(left, stride, right, kColumns, y, y_row,
                                                 tiles.terms.count);
    }
  }
};

struct PackRows {
  template <int kBytes>
  [[gnu::always_inline]] static void run(const FloatMatmul& in, const MatmulTerms& terms,
                                         const TileRange& tiles, float* to) {
    FloatMatmulPass<kBytes>::pack_rows(in, terms, tiles, to);
  }
};

struct PackColumns {
  template <int kBytes>
  [[gnu::always_inline]] static void run(const FloatMatmul& in, const MatmulTerms& terms,
                                         const TileRange& tiles, float* to) {
    FloatMatmulPass<kBytes>::pack_columns(in, terms, tiles, to);
  }
};

struct Multiply {
  template <int kBytes>
  [[gnu::always_inline]] static void run(const FloatMatmul& in, const Tiles& tiles) {
    FloatMatmulPass<kBytes>::multiply(in, tiles);
  }
};

struct MultiplyInPlace {
  template <int kBytes>
  [[gnu::always_inline]] static void run(const FloatMatmul& in, const float* panels,
                                         const TileRange& tiles, bool is_added) {
    FloatMatmulPass<kBytes>::multiply_in_place(in, panels, tiles, is_added);
  }
};

template <int kBytes>
constexpr MatmulTile kTileOf = {FloatMatmulPass<kBytes>::kRows, FloatMatmulPass<kBytes>::kColumns};

}  // namespace

MatmulTile float_matmul_tile() {
  const int bytes = vector_bytes();
  return bytes == 64 ? kTileOf<64> : bytes == 32 ? kTileOf<32> : kTileOf<16>;
}

void pack_rows(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& tiles, float* to) {
  IsaVersions<PackRows, FloatMatmul, MatmulTerms, TileRange, float*>::run(in, terms, tiles, to);
}

void pack_columns(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& tiles,
                  float* to) {
  IsaVersions<PackColumns, FloatMatmul, MatmulTerms, TileRange, float*>::run(in, terms, tiles, to);
}

void multiply_tiles(const FloatMatmul& in, const MatmulTerms& terms, const TileRange& row_tiles,
                    const float* rows, const TileRange& column_tiles, const float* columns,
                    bool is_added) {
  const Tiles tiles{terms, row_tiles, column_tiles, rows, columns, is_added};
  IsaVersions<Multiply, FloatMatmul, Tiles>::run(in, tiles);
}

EK_CLONES void widen_row(const Bf16* from, std::int64_t width, float* to) {
  for (std::int64_t k = 0; k < width; ++k) to[k] = static_cast<float>(load(from + k));
}

void pack_panels_of_rows(const FloatMatmul& in, float* to) {
  const FloatMatmul transposed{
      .w = in.x, .w_row = in.x_column, .w_column = in.x_row, .depth = in.depth, .columns = in.rows};
  const auto panel = float_matmul_tile().columns;
  pack_columns(transposed, {0, in.depth}, {0, (in.rows + panel - 1) / panel}, to);
}

void multiply_in_place(const FloatMatmul& in, const float* panels, const TileRange& tiles,
                       bool is_added) {
  IsaVersions<MultiplyInPlace, FloatMatmul, const float*, TileRange, bool>::run(in, panels, tiles,
                                                                                is_added);
}

}  // namespace evenkeel::kernels::cpu
