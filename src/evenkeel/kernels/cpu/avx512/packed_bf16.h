// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/portable/causal_attention.h"

/// Rows of bfloat16 as operands of a GEMM with float32 sums: in AMX tiles (amx_gemm.h), or with the
/// dot products of AVX-512 (avx512_gemm.h). Padding is zero.
namespace evenkeel::kernels::cpu {

/// Rows of a tile; also columns of float32, and pairs of bfloat16.
inline constexpr std::int64_t kTile = 16;
/// Rows, columns and depth (the summed dimension) of two tiles.
inline constexpr std::int64_t kTwoTiles = 2 * kTile;

/// The left operand: row m begins at values + m * stride.
struct LeftOperand {
  const Bf16* values = nullptr;
  std::int64_t stride = 0;
};

/// The right operand in panels of kTile columns, its rows in pairs: those of rows 2k and 2k + 1 in
/// column n are at pairs + n / kTile * panel + k * kTile + n % kTile.
struct RightOperand {
  const std::uint32_t* pairs = nullptr;
  std::int64_t panel = 0;  // stride between panels, in pairs
};

constexpr std::int64_t up_to(std::int64_t multiple, std::int64_t count) {
  return (count + multiple - 1) / multiple * multiple;
}

/// Rows [first, first + count) of a head; `all` of them are requested, the remaining rows are zero.
struct RowBlock {
  HeadRows<const Bf16> from;
  std::int64_t first = 0, count = 0, all = 0;
  std::int64_t width = 0;

  const Bf16* row(std::int64_t i) const { return from.rows + (first + i) * from.stride; }
};

/// 32 values of row i from column d on.
EK_AVX512_BF16_INLINE __m512i row_values(const RowBlock& rows, std::int64_t i, std::int64_t d) {
  if (i >= rows.count || d >= rows.width) return _mm512_setzero_si512();
  return _mm512_maskz_loadu_epi16(avx512::tail_mask_32(rows.width - d), rows.row(i) + d);
}

/// Prefetches part `share` of `shares` of rows [i, i + count): whole rows one after another, which
/// the hardware prefetcher then continues.
EK_AVX512_BF16_INLINE void prefetch(const RowBlock& rows, std::int64_t i, std::int64_t count,
                                    std::int64_t share, std::int64_t shares) {
  const auto each = (count + shares - 1) / shares;
  const auto begin = i + share * each, end = std::min({begin + each, i + count, rows.count});
  for (auto k = begin; k < end; ++k) {
    for (std::int64_t d = 0; d < rows.width; d += 32) _mm_prefetch(rows.row(k) + d, _MM_HINT_T0);
  }
}

/// The left operand [all, depth]: the rows without reordering.
EK_AVX512_BF16_INLINE void copy_rows(const RowBlock& rows, std::int64_t depth, Bf16* to) {
  for (std::int64_t i = 0; i < rows.all; ++i) {
    for (std::int64_t d = 0; d < depth; d += 32) {
      _mm512_storeu_si512(to + i * depth + d, row_values(rows, i, d));
    }
  }
}

/// Eight consecutive values of each of four rows; the rows are `stride` values apart.
EK_AVX512_BF16_INLINE __m512i load_4_rows_of_8(const Bf16* from, std::int64_t stride) {
  const auto eight = [&](std::int64_t row) {
    return reinterpret_cast<const __m128i*>(from + row * stride);
  };
  // Four loads, without a permutation across the lanes of a vector.
  __m512i all = _mm512_castsi128_si512(_mm_loadu_si128(eight(0)));
  all = _mm512_inserti32x4(all, _mm_loadu_si128(eight(1)), 1);
  all = _mm512_inserti32x4(all, _mm_loadu_si128(eight(2)), 2);
  return _mm512_inserti32x4(all, _mm_loadu_si128(eight(3)), 3);
}

/// Transposes 16 rows of 32 values, in pairs of values: the 16 values of a pair column become
/// contiguous.
EK_AVX512_BF16_INLINE void transpose_pairs(const Bf16* from, std::int64_t stride,
                                           std::uint32_t* to) {
#pragma GCC unroll 4
  for (std::int64_t pair = 0; pair < kTile; pair += 4) {
    // Quarter q of a vector holds rows 4 q to 4 q + 3: one of them after the first step, then two,
    // then four.
    __m512i ones[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      ones[i] = load_4_rows_of_8(from + i * stride + 2 * pair, 4 * stride);
    const __m512i a = _mm512_unpacklo_epi32(ones[0], ones[1]);  // pairs 0 and 1 of the four
    const __m512i b = _mm512_unpacklo_epi32(ones[2], ones[3]);
    const __m512i c = _mm512_unpackhi_epi32(ones[0], ones[1]);  // pairs 2 and 3
    const __m512i d = _mm512_unpackhi_epi32(ones[2], ones[3]);
    std::uint32_t* const at = to + pair * kTile;
    _mm512_storeu_si512(at, _mm512_unpacklo_epi64(a, b));
    _mm512_storeu_si512(at + kTile, _mm512_unpackhi_epi64(a, b));
    _mm512_storeu_si512(at + 2 * kTile, _mm512_unpacklo_epi64(c, d));
    _mm512_storeu_si512(at + 3 * kTile, _mm512_unpackhi_epi64(c, d));
  }
}

/// The right operand [depth, all], the rows transposed. Its panels have depth / 2 * kTile pairs.
EK_AVX512_BF16_INLINE void pack_as_columns(const RowBlock& rows, std::int64_t depth,
                                           std::uint32_t* pairs) {
  alignas(64) Bf16 padded[kTile * kTwoTiles];
  for (std::int64_t i = 0; i < rows.all; i += kTile) {
    for (std::int64_t d = 0; d < depth; d += kTwoTiles) {
      prefetch(rows, i + kTile, kTile, d / kTwoTiles, depth / kTwoTiles);
      std::uint32_t* const to = pairs + (i / kTile * depth + d) / 2 * kTile;
      if (i + kTile <= rows.count && d + kTwoTiles <= rows.width) {
        transpose_pairs(rows.row(i) + d, rows.from.stride, to);
        continue;
      }
      for (std::int64_t k = 0; k < kTile; ++k) {
        _mm512_store_si512(padded + k * kTwoTiles, row_values(rows, i + k, d));
      }
      transpose_pairs(padded, kTwoTiles, to);
    }
  }
}

/// The right operand [all, depth], the rows not transposed; depth is a multiple of two tiles. Its
/// panels have `panel` pairs.
EK_AVX512_BF16_INLINE void pack_as_rows(const RowBlock& rows, std::int64_t depth,
                                        std::uint32_t* pairs, std::int64_t panel) {
  for (std::int64_t i = 0; i < rows.all; i += kTwoTiles) {
    for (std::int64_t d = 0; d < depth; d += kTwoTiles) {
      std::uint32_t* const to = pairs + d / kTile * panel + i / 2 * kTile;
      const bool is_whole = i + kTwoTiles <= rows.count && d + kTwoTiles <= rows.width;
      const auto end = std::min(kTwoTiles, rows.all - i);
      for (std::int64_t k = 0; k < end; k += 2) {
        std::uint32_t* const at = to + k / 2 * kTile;
        if (is_whole) {
          const Bf16* const row = rows.row(i + k) + d;
          avx512::store_pairs(at, at + panel, _mm512_loadu_si512(row),
                              _mm512_loadu_si512(row + rows.from.stride));
        } else {
          avx512::store_pairs(at, at + panel, row_values(rows, i + k, d),
                              row_values(rows, i + k + 1, d));
        }
      }
    }
  }
}

/// Transposes 32 rows of 32 values.
EK_AVX512_BF16_INLINE void transpose_square(const Bf16* from, std::int64_t stride, Bf16* to,
                                            std::int64_t to_stride) {
#pragma GCC unroll 4
  for (std::int64_t column = 0; column < kTwoTiles; column += 8) {
    // Quarter q of a vector holds rows 8 q to 8 q + 7: one of them after the first step, then two,
    // then four.
    __m512i ones[8], low[4], high[4];  // columns 0 to 3 and 4 to 7 of the eight
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) ones[i] = load_4_rows_of_8(from + i * stride + column, 8 * stride);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      low[i] = _mm512_unpacklo_epi16(ones[2 * i], ones[2 * i + 1]);
      high[i] = _mm512_unpackhi_epi16(ones[2 * i], ones[2 * i + 1]);
    }
    for (const auto* const twos : {low, high}) {
      const __m512i a = _mm512_unpacklo_epi32(twos[0], twos[1]);  // rows 0 to 3 of columns 0, 1
      const __m512i b = _mm512_unpacklo_epi32(twos[2], twos[3]);  // rows 4 to 7
      const __m512i c = _mm512_unpackhi_epi32(twos[0], twos[1]);  // of columns 2, 3
      const __m512i d = _mm512_unpackhi_epi32(twos[2], twos[3]);
      Bf16* const at = to + (column + (twos == high ? 4 : 0)) * to_stride;
      _mm512_storeu_si512(at, _mm512_unpacklo_epi64(a, b));
      _mm512_storeu_si512(at + to_stride, _mm512_unpackhi_epi64(a, b));
      _mm512_storeu_si512(at + 2 * to_stride, _mm512_unpacklo_epi64(c, d));
      _mm512_storeu_si512(at + 3 * to_stride, _mm512_unpackhi_epi64(c, d));
    }
  }
}

/// The left operand [depth, all], the rows transposed.
EK_AVX512_BF16_INLINE void copy_transposed(const RowBlock& rows, std::int64_t depth, Bf16* to,
                                           std::int64_t stride) {
  alignas(64) Bf16 padded[kTwoTiles * kTwoTiles];
  for (std::int64_t i = 0; i < rows.all; i += kTwoTiles) {
    for (std::int64_t d = 0; d < depth; d += kTwoTiles) {
      Bf16* const at = to + d * stride + i;
      if (i + kTwoTiles <= rows.count && d + kTwoTiles <= rows.width) {
        transpose_square(rows.row(i) + d, rows.from.stride, at, stride);
        continue;
      }
      for (std::int64_t k = 0; k < kTwoTiles; ++k) {
        _mm512_store_si512(padded + k * kTwoTiles, row_values(rows, i + k, d));
      }
      transpose_square(padded, kTwoTiles, at, stride);
    }
  }
}

}  // namespace evenkeel::kernels::cpu
