// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/avx512/packed_bf16.h"

/// GEMM of bfloat16 with float32 sums, for packed operands in cache. What multiplies is a template
/// parameter `Gemm`: AmxGemm or Avx512Gemm. Its function multiply_tiles<kAdd, kHigh, kWide>() is a
/// product of kHigh x kWide tiles, 1 or 2 each; multiply_piece<kHigh, kWide>() is a piece of one.
/// An object of its type Scope lives meanwhile.
namespace evenkeel::kernels::cpu {

/// A piece, along the depth, of a product c (+)= a b. Between the first and the last piece no other
/// product may be computed in pieces or tiles, and c has no defined value.
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
