// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/float_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace evenkeel::kernels::cpu {
namespace {

using Floats = std::vector<float>;

/// A product with random operands, and NaN around them.
struct FloatShape {
  std::int64_t rows, depth, columns;
  bool x_by_columns, w_by_columns;  // the columns, not the rows, are contiguous
};

/// Values [lines, length], lines `length + 3` apart; NaN in between.
Floats lines_of(std::int64_t lines, std::int64_t length, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats out(static_cast<std::size_t>(lines * (length + 3)), std::nanf(""));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t k = 0; k < length; ++k) {
      out[static_cast<std::size_t>(i * (length + 3) + k)] = normal(engine);
    }
  }
  return out;
}

class TiledProduct {
 public:
  explicit TiledProduct(const FloatShape& of)
      : x_(of.x_by_columns ? lines_of(of.depth, of.rows, 1) : lines_of(of.rows, of.depth, 1)),
        w_(of.w_by_columns ? lines_of(of.columns, of.depth, 2) : lines_of(of.depth, of.columns, 2)),
        y_(static_cast<std::size_t>(of.rows * (of.columns + 5)), -7) {
    in_ = {.x = x_.data(),
           .x_row = of.x_by_columns ? 1 : of.depth + 3,
           .x_column = of.x_by_columns ? of.rows + 3 : 1,
           .w = w_.data(),
           .w_row = of.w_by_columns ? 1 : of.columns + 3,
           .w_column = of.w_by_columns ? of.depth + 3 : 1,
           .y = y_.data(),
           .y_row = of.columns + 5,
           .rows = of.rows,
           .depth = of.depth,
           .columns = of.columns};
  }

  /// Computes y in parts of at most so many tiles of rows and of columns.
  /// \param packs_rows  false: x is read where it lies
  const Floats& run(std::int64_t row_tiles, std::int64_t column_tiles, bool is_added = false,
                    bool packs_rows = true) {
    const auto tile = float_matmul_tile();
    const auto all_rows = (in_.rows + tile.rows - 1) / tile.rows,
               all_columns = (in_.columns + tile.columns - 1) / tile.columns;
    for (std::int64_t first = 0; first < in_.depth; first += kMatmulDepth) {
      const MatmulTerms terms{first, std::min(kMatmulDepth, in_.depth - first)};
      for (std::int64_t i = 0; i < all_rows; i += row_tiles) {
        const TileRange rows{i, std::min(all_rows, i + row_tiles)};
        Floats left(static_cast<std::size_t>((rows.last - rows.first) * tile.rows * terms.count),
                    std::nanf(""));
        if (packs_rows) pack_rows(in_, terms, rows, left.data());
        for (std::int64_t j = 0; j < all_columns; j += column_tiles) {
          const TileRange columns{j, std::min(all_columns, j + column_tiles)};
          Floats right(
              static_cast<std::size_t>((columns.last - columns.first) * tile.columns * terms.count),
              std::nanf(""));
          pack_columns(in_, terms, columns, right.data());
          multiply_tiles(in_, terms, rows, packs_rows ? left.data() : nullptr, columns,
                         right.data(), is_added || first > 0);
        }
      }
    }
    return y_;
  }

  /// Computes y without packing w, `tiles` tiles at a time.
  const Floats& run_in_place(std::int64_t tiles, bool is_added) {
    const auto tile = float_matmul_tile();
    const auto panels = (in_.rows + tile.columns - 1) / tile.columns * tile.columns;
    Floats packed(static_cast<std::size_t>(panels * in_.depth), std::nanf(""));
    pack_panels_of_rows(in_, packed.data());
    const auto all = (in_.columns + tile.rows - 1) / tile.rows;
    for (std::int64_t i = 0; i < all; i += tiles) {
      multiply_in_place(in_, packed.data(), {i, std::min(all, i + tiles)}, is_added);
    }
    return y_;
  }

  /// The sum of the terms of a value, and of their sizes.
  std::pair<double, double> exact(std::int64_t i, std::int64_t j) const {
    double sum = 0, size = 0;
    for (std::int64_t k = 0; k < in_.depth; ++k) {
      const double term = static_cast<double>(in_.x[i * in_.x_row + k * in_.x_column]) *
                          static_cast<double>(in_.w[k * in_.w_row + j * in_.w_column]);
      sum += term, size += std::abs(term);
    }
    return {sum, size};
  }

  float y(std::int64_t i, std::int64_t j) const {
    return y_[static_cast<std::size_t>(i * in_.y_row + j)];
  }

 private:
  Floats x_, w_, y_;
  FloatMatmul in_;
};

// Around the edges of tiles (12 or 6 rows, 32, 16 or 8 columns) and of blocks of 1,024 terms.
const std::vector<FloatShape> kFloatShapes = {
    {1, 1, 1, false, false},     {12, 1024, 32, false, false}, {13, 1025, 33, false, true},
    {25, 5, 70, true, false},    {11, 1100, 31, true, true},   {6, 2048, 16, false, false},
    {70, 1500, 17, true, false}, {24, 1, 64, false, true},     {70, 60, 100, false, false}};
static_assert(kMatmulDepth == 1024);

TEST(FloatMatmul, IsItsFormula) {
  for (const auto& each : kFloatShapes) {
    TiledProduct product(each);
    product.run(2, 2);
    for (std::int64_t i = 0; i < each.rows; ++i) {
      for (std::int64_t j = 0; j < each.columns; ++j) {
        const auto [sum, size] = product.exact(i, j);
        const double rounding = static_cast<double>(each.depth) * 0x1p-24 * size;
        ASSERT_NEAR(product.y(i, j), sum, rounding + 1e-12) << each.rows << " " << i << " " << j;
      }
      for (std::int64_t j = each.columns; j < each.columns + 5; ++j) {
        ASSERT_EQ(product.y(i, j), -7) << "after row " << i;
      }
    }
  }
}

TEST(FloatMatmul, AddsToWhatIsThere) {
  for (const auto& each : kFloatShapes) {
    TiledProduct product(each), added(each);
    product.run(3, 1);
    added.run(3, 1, /*is_added=*/true);
    const auto tolerance = 1e-5 * std::sqrt(static_cast<double>(each.depth));
    ASSERT_NEAR(added.y(0, 0), product.y(0, 0) - 7, tolerance);
    ASSERT_NEAR(added.y(each.rows - 1, each.columns - 1),
                product.y(each.rows - 1, each.columns - 1) - 7, tolerance);
  }
}

TEST(FloatMatmul, HasTheSameBitsInEveryPartition) {
  for (const auto& each : kFloatShapes) {
    TiledProduct whole(each);
    const auto& wanted = whole.run(1000, 1000);
    for (const std::int64_t size : {1, 2, 3}) {
      TiledProduct parts(each);
      const auto& found = parts.run(size, 4 - size);
      ASSERT_EQ(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)), 0)
          << each.rows << " " << size;
    }
  }
}

TEST(FloatMatmul, HasTheSameBitsWithoutPackedRows) {
  for (const auto& each : kFloatShapes) {
    if (each.x_by_columns) continue;
    for (const bool is_added : {false, true}) {
      TiledProduct packed(each), in_place(each);
      const auto& wanted = packed.run(1000, 1000, is_added);
      const auto& found = in_place.run(2, 1, is_added, /*packs_rows=*/false);
      ASSERT_EQ(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)), 0)
          << each.rows << " " << is_added;
    }
  }
}

TEST(FloatMatmul, HasTheSameBitsWithoutPackedColumns) {
  for (const auto& each : kFloatShapes) {
    if (!each.w_by_columns) continue;
    for (const bool is_added : {false, true}) {
      TiledProduct packed(each), in_place(each);
      const auto& wanted = packed.run(1000, 1000, is_added);
      const auto& found = in_place.run_in_place(2, is_added);
      ASSERT_EQ(std::memcmp(found.data(), wanted.data(), wanted.size() * sizeof(float)), 0)
          << each.rows << " " << is_added;
    }
  }
}

}  // namespace
}  // namespace evenkeel::kernels::cpu
