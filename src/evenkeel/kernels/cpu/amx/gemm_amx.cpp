// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/amx/gemm_amx.h"

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx_gemm.h"

/// The right operand is packed and stays in the level-2 cache. Rows are processed two tiles at a
/// time.
namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kSide = kTwoTiles;          // side of a square of sums: two tiles
constexpr std::int64_t kPackedValues = 256 << 10;  // values that are packed at once

/// The sizes of a product after packing.
struct PackedShape {
  explicit PackedShape(const GemmArguments& args)
      : depth(up_to(kSide, args.depth)),
        panel(depth / 2 * kTile),
        columns(std::min(up_to(kSide, args.width),
                         std::max(kSide, kPackedValues / depth / kSide * kSide))) {}
  std::int64_t depth, panel;
  std::int64_t columns;  // packed at once
};

/// A computed square of sums that is not stored yet.
struct OutputTile {
  const float* sums = nullptr;  // [kSide, kSide]
  Bf16* to = nullptr;
  std::int64_t stride = 0, rows = 0, columns = 0;
  bool non_temporal = false;
};

EK_AMX_INLINE void store_output_tile(const OutputTile& tile) {
  const auto mask = avx512::tail_mask_32(tile.columns);
  const bool is_line = tile.columns >= kSide && tile.stride % kSide == 0 &&
                       reinterpret_cast<std::uintptr_t>(tile.to) % 64 == 0;
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* const row = tile.sums + i * kSide;
    const auto both = reinterpret_cast<__m512i>(
        _mm512_cvtne2ps_pbh(_mm512_load_ps(row + 16), _mm512_load_ps(row)));
    Bf16* const to = tile.to + i * tile.stride;
    if (tile.non_temporal && is_line) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), both);
    } else {
      _mm512_mask_storeu_epi16(to, mask, both);
    }
  }
}

/// Computes columns [first, first + wide) of y. A square is rounded while the next one is computed:
/// the AMX unit works in parallel to the vector unit.
EK_AMX_INLINE void gemm_columns(const GemmArguments& args, const PackedShape& shape,
                                const std::uint32_t* pairs, std::int64_t first, std::int64_t wide,
                                Bf16* copied) {
  alignas(64) float sums[2][kSide * kSide];
  OutputTile pending;
  int buffer = 0;
  for (std::int64_t m = 0; m < args.count; m += kSide) {
    const auto rows = std::min(kSide, args.count - m);
    LeftOperand left = {args.x + m * args.x_stride, args.x_stride};
    if (rows < kSide || shape.depth > args.depth) {
      copy_rows({{left.values, left.stride}, 0, rows, kSide, args.depth}, shape.depth, copied);
      left = {copied, shape.depth};
    }
    for (std::int64_t n = 0; n < wide; n += kSide) {
      // Tile instructions access memory that the compiler does not see.
      asm volatile("" ::: "memory");
      AmxGemm::multiply_tiles<false, 2, 2>(left, {pairs + n / kTile * shape.panel, shape.panel},
                                           sums[buffer], kSide, shape.depth);
      store_output_tile(pending);
      pending = {sums[buffer],
                 args.y + m * args.y_stride + first + n,
                 args.y_stride,
                 rows,
                 std::min(kSide, wide - n),
                 args.non_temporal};
      buffer = 1 - buffer;
    }
  }
  asm volatile("" ::: "memory");
  store_output_tile(pending);
}

}  // namespace

std::int64_t GemmArguments::scratch() const {
  const PackedShape shape(*this);
  return 2 * shape.depth * (shape.columns + kSide);
}

EK_AMX void gemm_amx(const GemmArguments& args, void* scratch) {
  const AmxTiles tiles;
  const PackedShape shape(args);
  auto* const pairs = static_cast<std::uint32_t*>(scratch);
  auto* const copied = reinterpret_cast<Bf16*>(pairs + shape.depth / 2 * shape.columns);
  for (std::int64_t n = 0; n < args.width; n += shape.columns) {
    const auto wide = std::min(shape.columns, args.width - n);
    if (args.no_transpose) {
      pack_as_rows({{args.w + n, args.w_stride}, 0, args.depth, shape.depth, wide},
                   up_to(kSide, wide), pairs, shape.panel);
    } else {
      pack_as_columns({{args.w, args.w_stride}, n, wide, up_to(kSide, wide), args.depth},
                      shape.depth, pairs);
    }
    gemm_columns(args, shape, pairs, n, wide, copied);
  }
  _mm_sfence();  // orders the non-temporal stores before later stores of this thread
}

}  // namespace evenkeel::kernels::cpu
