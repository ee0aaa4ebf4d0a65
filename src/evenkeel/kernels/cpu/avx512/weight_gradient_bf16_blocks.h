// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/gemm_bf16.h"
#include "evenkeel/kernels/cpu/avx512/weight_gradient_bf16.h"

/// WeightGradient for a Gemm of gemm_bf16.h; for the files that compute it only. A block of sums
/// stays in the level-2 cache, while the rows of both operands are packed and multiplied kDepth at
/// a time. Sums are stored in squares of 2 x 2 tiles.
namespace evenkeel::kernels::cpu::bf16_weight_gradient {

inline constexpr std::int64_t kSide = kTwoTiles;  // side of a square of sums: two tiles
inline constexpr std::int64_t kBlock = WeightGradient::kBlock;
inline constexpr std::int64_t kDepth = 256;               // rows that are packed at once
inline constexpr std::int64_t kLeftStride = kDepth + 32;  // row stride; no power of two
inline constexpr std::int64_t kPanel =
    kDepth / 2 * kTile;  // size of a panel of the right operand, in pairs

struct Scratch {
  alignas(64) float sums[kBlock * kBlock];
  alignas(64) Bf16 left[kBlock * kLeftStride];
  alignas(64) std::uint32_t right[kBlock / kTile * kPanel];
};

/// A computed square of sums that is not stored yet.
struct OutputTile {
  const float* sums = nullptr;  // [kSide, kSide]
  float* to = nullptr;
  std::int64_t stride = 0, rows = 0, columns = 0;
  bool is_first = false;
};

EK_AMX_INLINE void store_output_tile(const OutputTile& tile) {
  const bool is_line = tile.columns >= kSide && tile.stride % kTile == 0 &&
                       reinterpret_cast<std::uintptr_t>(tile.to) % 64 == 0;
  const auto low = avx512::tail_mask_16(tile.columns);
  const auto high = avx512::tail_mask_16(tile.columns - kTile);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const float* const row = tile.sums + i * kSide;
    const __m512 left = _mm512_load_ps(row), right = _mm512_load_ps(row + kTile);
    float* const to = tile.to + i * tile.stride;
    if (!tile.is_first) {
      _mm512_mask_storeu_ps(to, low, _mm512_add_ps(_mm512_maskz_loadu_ps(low, to), left));
      _mm512_mask_storeu_ps(to + kTile, high,
                            _mm512_add_ps(_mm512_maskz_loadu_ps(high, to + kTile), right));
    } else if (is_line) {  // non-temporal: the next reader is the optimizer, after all gradients
      _mm512_stream_ps(to, left);
      _mm512_stream_ps(to + kTile, right);
    } else {
      _mm512_mask_storeu_ps(to, low, left);
      _mm512_mask_storeu_ps(to + kTile, high, right);
    }
  }
}

/// Rows [first, first + count) of an operand, columns [column, column + width).
inline RowBlock row_block(const Bf16* factor, std::int64_t stride, std::int64_t first,
                          std::int64_t count, std::int64_t column, std::int64_t width) {
  return {{factor + column, stride}, first, count, up_to(kSide, count), width};
}

/// Computes a gradient of at most kBlock x kBlock. A square is stored while the next one is
/// computed.
template <typename Gemm>
EK_AMX_INLINE void add_block(const WeightGradient& args, Scratch& scratch) {
  OutputTile pending;
  for (std::int64_t k = 0; k < args.count; k += kDepth) {
    const auto count = std::min(kDepth, args.count - k), depth = up_to(kSide, count);
    const bool is_last = k + kDepth >= args.count;
    copy_transposed(row_block(args.dy, args.dy_stride, k, count, 0, args.rows),
                    up_to(kSide, args.rows), scratch.left, kLeftStride);
    pack_as_rows(row_block(args.x, args.x_stride, k, count, 0, args.columns),
                 up_to(kSide, args.columns), scratch.right, kPanel);
    float* sums = scratch.sums;
    for (std::int64_t n = 0; n < args.columns; n += kSide) {
      const RightOperand right = {scratch.right + n / kTile * kPanel, kPanel};
      for (std::int64_t m = 0; m < args.rows; m += kSide, sums += kSide * kSide) {
        const LeftOperand left = {scratch.left + m * kLeftStride, kLeftStride};
        // Tile instructions access memory that the compiler does not see.
        asm volatile("" ::: "memory");
        if (k == 0) {
          Gemm::template multiply_tiles<false, 2, 2>(left, right, sums, kSide, depth);
        } else {
          Gemm::template multiply_tiles<true, 2, 2>(left, right, sums, kSide, depth);
        }
        if (!is_last) continue;
        store_output_tile(pending);
        pending = {sums,
                   args.sum + m * args.sum_stride + n,
                   args.sum_stride,
                   std::min(kSide, args.rows - m),
                   std::min(kSide, args.columns - n),
                   args.is_first};
      }
    }
  }
  asm volatile("" ::: "memory");
  store_output_tile(pending);
}

/// Computes args.sum.
template <typename Gemm>
EK_AMX_INLINE void run(const WeightGradient& args, void* scratch) {
  [[maybe_unused]] const typename Gemm::Scope scope;
  for (std::int64_t m = 0; m < args.rows; m += kBlock) {
    for (std::int64_t n = 0; n < args.columns; n += kBlock) {
      auto block = args;
      block.dy += m, block.x += n, block.sum += m * args.sum_stride + n;
      block.rows = std::min(kBlock, args.rows - m),
      block.columns = std::min(kBlock, args.columns - n);
      add_block<Gemm>(block, *static_cast<Scratch*>(scratch));
    }
  }
  _mm_sfence();  // orders the non-temporal stores before later stores of this thread
}

}  // namespace evenkeel::kernels::cpu::bf16_weight_gradient
