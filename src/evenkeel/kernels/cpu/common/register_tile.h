// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/vector_type.h"

/// Small matrix products of operands in cache; a tile of the result stays in registers.
namespace evenkeel::kernels::cpu {

/// The vector type, and the shape of the register tile, for vectors of kBytes.
template <typename F, int kBytes>
struct TileShape {
  using V = typename VectorOf<F, kBytes>::Type;
  static constexpr std::int64_t kVector = kBytes / static_cast<int>(sizeof(F));
  static constexpr std::int64_t kPanel = 2 * kVector;  // columns of a tile
  static constexpr int kRows = kBytes == 64 ? 12 : 6;  // rows of a tile
};

/// The layout of the left operand: row-major, row i at a + i * stride, or column-major, column k at
/// a + k * stride.
enum class LeftLayout { row_major, column_major };

/// c[i, j] (+)= sum_k a[i, k] b[k, j] for kRows x (kVectors * lanes) values of c.
template <typename V, int kRows, int kVectors, LeftLayout kLeft, bool kAdd, typename F>
[[gnu::always_inline]] inline void matmul_tile(const F* __restrict a, std::int64_t a_stride,
                                               const F* __restrict b, std::int64_t b_stride,
                                               F* __restrict c, std::int64_t c_stride,
                                               std::int64_t depth) {
  constexpr int kVectorSize = static_cast<int>(sizeof(V) / sizeof(F));
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) {
      if (kAdd) {
        load_vector(sum[i][j], c + i * c_stride + j * kVectorSize);
      } else {
        sum[i][j] = V{};
      }
    }
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    V right[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) load_vector(right[j], b + k * b_stride + j * kVectorSize);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const F left = kLeft == LeftLayout::row_major ? a[i * a_stride + k] : a[k * a_stride + i];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) store_vector(c + i * c_stride + j * kVectorSize, sum[i][j]);
  }
}

/// As above, for any number of whole vectors per row: two at a time, then a single last one.
template <typename V, int kRows, LeftLayout kLeft, bool kAdd, typename F>
[[gnu::always_inline]] inline void matmul_tiles(const F* __restrict a, std::int64_t a_stride,
                                                const F* __restrict b, std::int64_t b_stride,
                                                F* __restrict c, std::int64_t c_stride,
                                                std::int64_t depth, std::int64_t vectors) {
  constexpr int kVectorSize = static_cast<int>(sizeof(V) / sizeof(F));
  std::int64_t j = 0;
  for (; j + 2 <= vectors; j += 2) {
    matmul_tile<V, kRows, 2, kLeft, kAdd>(a, a_stride, b + j * kVectorSize, b_stride,
                                          c + j * kVectorSize, c_stride, depth);
  }
  if (j < vectors) {
    matmul_tile<V, kRows, 1, kLeft, kAdd>(a, a_stride, b + j * kVectorSize, b_stride,
                                          c + j * kVectorSize, c_stride, depth);
  }
}

}  // namespace evenkeel::kernels::cpu
