// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "evenkeel/kernels/cpu/amx_tiles.h"
#include "evenkeel/kernels/cpu/attention.h"
#include "evenkeel/kernels/cpu/bf16_lanes.h"

/// Rows of a head as factors of products in tiles (amx_tiles.h). What is padded is zero.
namespace evenkeel::kernels::cpu {

/// Rows, columns and depths of two tiles.
inline constexpr std::int64_t kTwoTiles = 2 * kTile;

constexpr std::int64_t up_to(std::int64_t multiple, std::int64_t count) {
  return (count + multiple - 1) / multiple * multiple;
}

/// Rows [first, first + count) of a head; `all` of them are wanted, the others are zero.
struct SomeRows {
  HeadRows<const Bf16> from;
  std::int64_t first = 0, count = 0, all = 0;
  std::int64_t width = 0;

  const Bf16* row(std::int64_t i) const { return from.rows + (first + i) * from.stride; }
};

/// 32 values of row i from column d on.
EK_LANES __m512i values_of(const SomeRows& rows, std::int64_t i, std::int64_t d) {
  if (i >= rows.count || d >= rows.width) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(lanes::first_of_32(rows.width - d), rows.row(i) + d);
}

/// Asks for part `turn` of `turns` of rows [i, i + count): whole rows one after another, which the
/// processor then goes on asking for by itself.
EK_LANES void prefetch(const SomeRows& rows, std::int64_t i, std::int64_t count, std::int64_t turn,
                       std::int64_t turns) {
  const auto each = (count + turns - 1) / turns;
  const auto begin = i + turn * each, end = std::min({begin + each, i + count, rows.count});
  for (auto k = begin; k < end; ++k) {
    for (std::int64_t d = 0; d < rows.width; d += 32) _mm_prefetch(rows.row(k) + d, _MM_HINT_T0);
  }
}

/// A left factor [all, depth]: the rows as they are.
EK_LANES void copy_rows(const SomeRows& rows, std::int64_t depth, Bf16* to) {
  for (std::int64_t i = 0; i < rows.all; ++i) {
    for (std::int64_t d = 0; d < depth; d += 32) {
      _mm512_storeu_si512(to + i * depth + d, values_of(rows, i, d));
    }
  }
}

/// A right factor [depth, all]: each row is a column. Its panels have depth / 2 * kTile pairs.
EK_LANES void pack_as_columns(const SomeRows& rows, std::int64_t depth, std::uint32_t* pairs) {
  for (std::int64_t i = 0; i < rows.all; i += kTile) {
    for (std::int64_t d = 0; d < depth; d += 32) {
      __m512i words[16];
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) words[k] = values_of(rows, i + k, d);
      prefetch(rows, i + kTile, kTile, d / 32, depth / 32);
      lanes::transpose(words);
      std::uint32_t* const to = pairs + (i / kTile * depth + d) / 2 * kTile;
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) _mm512_storeu_si512(to + k * kTile, words[k]);
    }
  }
}

/// A right factor [all, depth]: each row is a row; depth is a multiple of two tiles here, too. Its
/// panels have `panel` pairs.
EK_LANES void pack_as_rows(const SomeRows& rows, std::int64_t depth, std::uint32_t* pairs,
                           std::int64_t panel) {
  for (std::int64_t i = 0; i < rows.all; i += 2) {
    for (std::int64_t d = 0; d < depth; d += 32) {
      std::uint32_t* const to = pairs + d / kTile * panel + i / 2 * kTile;
      lanes::store_pairs(to, to + panel, values_of(rows, i, d), values_of(rows, i + 1, d));
    }
  }
}

/// A left factor [depth, all]: each row is a column.
EK_LANES void copy_transposed(const SomeRows& rows, std::int64_t depth, Bf16* to,
                              std::int64_t stride) {
  for (std::int64_t i = 0; i < rows.all; i += 32) {
    for (std::int64_t d = 0; d < depth; d += 32) {
      __m512i low[16], high[16];
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) low[k] = values_of(rows, i + k, d);
#pragma GCC unroll 16
      for (int k = 0; k < 16; ++k) high[k] = values_of(rows, i + 16 + k, d);
      prefetch(rows, i + kTwoTiles, kTwoTiles, d / 32, depth / 32);
      lanes::transpose(low);
      lanes::transpose(high);
      for (int k = 0; k < 16; ++k) {
        Bf16* const at = to + (d + 2 * k) * stride + i;
        _mm512_storeu_si512(at, lanes::even_of(low[k], high[k]));
        _mm512_storeu_si512(at + stride, lanes::odd_of(low[k], high[k]));
      }
    }
  }
}

}  // namespace evenkeel::kernels::cpu
