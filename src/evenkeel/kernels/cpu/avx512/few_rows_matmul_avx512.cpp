// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/few_rows_matmul_avx512.h"

#include "evenkeel/kernels/cpu/avx512/avx512_bf16.h"
#include "evenkeel/kernels/cpu/common/prefetch.h"

namespace evenkeel::kernels::cpu {

namespace {

using Matmul = FewRowsMatmul<Bf16, Bf16>;

constexpr std::int64_t kStep = 32;  // values of a vector
constexpr int kColumns = 4;         // of a tile; its rows are six at most

/// The sum of sixteen lanes, in the order of horizontal_sum().
EK_AVX512_BF16_INLINE float sum_of_lanes(__m512 lanes) {
  const auto eight = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
  const auto four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const auto two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}

/// A tile of y: kRows rows of x times kCount rows of w, in as many sums as the registers hold.
template <int kRows, int kCount>
struct Tile {
  const Bf16 *x, *w;
  std::int64_t x_stride, w_stride;
  __m512 sum[kRows][kCount];

  /// Adds the products of the columns from k on.
  /// \param lanes  none, or a mask of the columns
  template <typename... Mask>
  EK_AVX512_BF16_INLINE void add_products(std::int64_t k, Mask... lanes) {
    using avx512::load_32;
    __m512bh right[kCount];
#pragma GCC unroll 4
    for (int j = 0; j < kCount; ++j) {
      const auto* const at = w + j * w_stride + k;
      right[j] = load_32(at, lanes...);
      // A row of the next tile, or the next page.
      constexpr std::int64_t kSize = sizeof(Bf16);
      prefetch(at, kCount == 1 ? kPage : kCount * w_stride * kSize);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
      const auto left = load_32(x + i * x_stride + k, lanes...);
#pragma GCC unroll 4
      for (int j = 0; j < kCount; ++j) sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
    }
  }
};

template <int kRows, int kCount>
EK_AVX512_BF16_INLINE void multiply_tile(const Matmul& in, std::int64_t row, std::int64_t column) {
  Tile<kRows, kCount> tile{.x = in.x + row * in.depth,
                           .w = in.w + column * in.w_stride,
                           .x_stride = in.depth,
                           .w_stride = in.w_stride};
  for (auto& sums : tile.sum) {
    for (auto& each : sums) each = _mm512_setzero_ps();
  }
  std::int64_t k = 0;
  for (; k + kStep <= in.depth; k += kStep) tile.add_products(k);
  if (k < in.depth) tile.add_products(k, avx512::tail_mask_32(in.depth - k));
#pragma GCC unroll 6
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kCount; ++j) {
      store(in.y + (row + i) * in.y_stride + column + j,
            static_cast<double>(sum_of_lanes(tile.sum[i][j])));
    }
  }
}

/// All rows of x times kCount rows of w, which stay in the cache meanwhile.
template <int kCount>
EK_AVX512_BF16_INLINE void multiply_columns(const Matmul& in, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + 6 <= in.rows; row += 6) multiply_tile<6, kCount>(in, row, column);
  for (; row + 4 <= in.rows; row += 4) multiply_tile<4, kCount>(in, row, column);
  for (; row + 2 <= in.rows; row += 2) multiply_tile<2, kCount>(in, row, column);
  if (row < in.rows) multiply_tile<1, kCount>(in, row, column);
}

}  // namespace

EK_AVX512_BF16 void few_rows_matmul_avx512(const Matmul& in, std::int64_t begin, std::int64_t end) {
  auto column = begin;
  if (in.rows > kMaxSequentialRows) {
    for (; column + kColumns <= end; column += kColumns) multiply_columns<kColumns>(in, column);
  }
  for (; column < end; ++column) multiply_columns<1>(in, column);
}

}  // namespace evenkeel::kernels::cpu
