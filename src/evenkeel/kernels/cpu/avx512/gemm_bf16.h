// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/amx/amx.h"
#include "evenkeel/kernels/cpu/avx512/packed_bf16.h"

/// GEMM of bfloat16 with float32 sums, for packed operands in cache. The template parameter `Gemm`
/// (AmxGemm or Avx512Gemm) selects the instructions. multiply_tiles<kAdd, kHigh, kWide>() computes
/// kHigh x kWide output tiles (1 or 2 each); multiply_piece<kHigh, kWide>() does so for one slice
/// of K. The caller keeps a `Gemm::Scope` alive around the calls: for AMX it configures the tiles.
namespace evenkeel::kernels::cpu {

/// One slice of K of c (+)= a b. From `is_first` to `is_last` AMX holds the sums in its tiles:
/// compute no other product in between. c is undefined until the last slice.
struct GemmPiece {
  bool is_first = true, is_last = true;
  bool adds = false;  // c += a b
};

/// c[i, j] (+)= sum_k a[i, k] b[k, j] for `high` x `wide` values of c, both multiples of kTile, and
/// `depth` values of k, a multiple of kTwoTiles.
template <typename Gemm, bool kAdd>
EK_AMX [[gnu::always_inline]] inline void multiply(const LeftOperand& a, const RightOperand& b,
                                                   float* c, std::int64_t c_stride,
                                                   std::int64_t high, std::int64_t wide,
                                                   std::int64_t depth) {
  // Tile instructions access memory that the compiler does not see.
  asm volatile("" ::: "memory");
  for (std::int64_t n = 0; n < wide; n += kTwoTiles) {
    const RightOperand right = {b.pairs + n / kTile * b.panel, b.panel};
    for (std::int64_t m = 0; m < high; m += kTwoTiles) {
      const LeftOperand left = {a.values + m * a.stride, a.stride};
      float* const to = c + m * c_stride + n;
      const bool is_high = m + kTile < high;
      if (n + kTile < wide) {
        is_high ? Gemm::template multiply_tiles<kAdd, 2, 2>(left, right, to, c_stride, depth)
                : Gemm::template multiply_tiles<kAdd, 1, 2>(left, right, to, c_stride, depth);
      } else {
        is_high ? Gemm::template multiply_tiles<kAdd, 2, 1>(left, right, to, c_stride, depth)
                : Gemm::template multiply_tiles<kAdd, 1, 1>(left, right, to, c_stride, depth);
      }
    }
  }
}

}  // namespace evenkeel::kernels::cpu
