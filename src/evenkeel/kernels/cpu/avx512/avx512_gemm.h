// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "evenkeel/kernels/cpu/avx512/gemm_bf16.h"

/// The GEMM of gemm_bf16.h with the dot products of AVX-512 (vdpbf16ps), which add two products of
/// bfloat16 to each of sixteen float32 sums. Subnormal operands and results count as 0.
namespace evenkeel::kernels::cpu {

/// A pair of neighbours of the left operand, for all sixteen columns.
EK_AVX512_BF16_INLINE __m512bh broadcast_pair(const Bf16* pair) {
  std::int32_t both = 0;
  std::memcpy(&both, pair, sizeof(both));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
}

struct Avx512Gemm {
  struct Scope {};  // nothing to configure

  /// c (+)= a b for kRows rows and kWide tiles of columns. Each sum has a register.
  template <bool kAdd, int kRows, int kWide>
  EK_AVX512_BF16_INLINE static void multiply_rows(const LeftOperand& a, const RightOperand& b,
                                                  float* c, std::int64_t c_stride,
                                                  std::int64_t depth) {
    __m512 sum[kRows][kWide];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kWide; ++j) {
        sum[i][j] = kAdd ? _mm512_loadu_ps(c + i * c_stride + j * kTile) : _mm512_setzero_ps();
      }
    }
    const std::uint32_t* panels[kWide];
#pragma GCC unroll 2
    for (int j = 0; j < kWide; ++j) panels[j] = b.pairs + j * b.panel;
    for (std::int64_t k = 0; k < depth; k += 2) {
      __m512bh right[kWide];
#pragma GCC unroll 2
      for (int j = 0; j < kWide; ++j) {
        right[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panels[j]));
        panels[j] += kTile;
      }
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const __m512bh left = broadcast_pair(a.values + i * a.stride + k);
#pragma GCC unroll 2
        for (int j = 0; j < kWide; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kWide; ++j) _mm512_storeu_ps(c + i * c_stride + j * kTile, sum[i][j]);
    }
  }

  template <bool kAdd, int kHigh, int kWide>
  EK_AVX512_BF16_INLINE static void multiply_tiles(const LeftOperand& a, const RightOperand& b,
                                                   float* c, std::int64_t c_stride,
                                                   std::int64_t depth) {
    constexpr int kRows = kWide == 2 ? 8 : 16;  // sixteen sums: more than the latency hides
    for (std::int64_t i = 0; i < kHigh * kTile; i += kRows) {
      multiply_rows<kAdd, kRows, kWide>({a.values + i * a.stride, a.stride}, b, c + i * c_stride,
                                        c_stride, depth);
    }
  }

  template <int kHigh, int kWide>
  EK_AVX512_BF16_INLINE static void multiply_piece(const LeftOperand& a, const RightOperand& b,
                                                   float* c, std::int64_t c_stride,
                                                   std::int64_t depth, const GemmPiece& piece) {
    if (piece.is_first && !piece.adds) {
      multiply_tiles<false, kHigh, kWide>(a, b, c, c_stride, depth);
    } else {
      multiply_tiles<true, kHigh, kWide>(a, b, c, c_stride, depth);
    }
  }
};

}  // namespace evenkeel::kernels::cpu
