// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/int8_matmul_avx512.h"

#include <immintrin.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/avx512/avx512_target.h"
#include "evenkeel/kernels/cpu/common/prefetch.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kTilesAhead = 3;  // whose rows are prefetched, some ten kilobytes
constexpr std::int64_t kStep = 32;       // columns of w in a vector of 16-bit integers
/// Each of the sixteen 32-bit sums of a vector has a sixteenth of the products of so many columns.
constexpr std::int64_t kBlock = 8192;
static_assert(kBlock / 16 * 32767 * 127 <= 0x7fffffff);

/// The sum of sixteen 32-bit integers, which may need more than 32 bits.
EK_AVX512_VNNI_INLINE std::int64_t sum_of(__m512i v) {
  const auto low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
  const auto high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
  return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

/// The operands of a tile: kRows rows of x and kColumns rows of w.
struct Tile {
  const std::int16_t* x;
  const std::int8_t* w;
  std::int64_t x_stride, w_stride;
};

/// sum += the products of `mask` columns from k on.
template <int kRows, int kColumns>
EK_AVX512_VNNI_INLINE void add_products(__m512i (&sum)[kRows][kColumns], const Tile& tile,
                                        std::int64_t k, __mmask32 mask) {
  __m512i left[kRows];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
    left[i] = _mm512_maskz_loadu_epi16(mask, tile.x + i * tile.x_stride + k);
  }
#pragma GCC unroll 8
  for (int j = 0; j < kColumns; ++j) {
    const auto* const at = tile.w + j * tile.w_stride + k;
    const auto right = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, at));
    // A row of a later tile: the processor does not fetch ahead over the end of a page.
    if constexpr (kColumns > 1) prefetch(at, kTilesAhead * kColumns * tile.w_stride);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) sum[i][j] = _mm512_dpwssd_epi32(sum[i][j], left[i], right);
  }
}

/// As many sums as the registers hold.
template <int kRows, int kColumns, typename T>
EK_AVX512_VNNI_INLINE void multiply_tile(const Int8Matmul<T>& in, std::int64_t row,
                                         std::int64_t column) {
  const Tile tile{in.x + row * in.depth, in.w + column * in.w_stride, in.depth, in.w_stride};
  std::int64_t total[kRows][kColumns] = {};
  for (std::int64_t first = 0; first < in.depth; first += kBlock) {
    const auto last = std::min(in.depth, first + kBlock);
    __m512i sum[kRows][kColumns];
    for (auto& sums : sum) {
      for (auto& each : sums) each = _mm512_setzero_si512();
    }
    auto k = first;
    for (; k + kStep <= last; k += kStep) add_products(sum, tile, k, ~0U);
    if (k < last) add_products(sum, tile, k, (1U << (last - k)) - 1);
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kColumns; ++j) total[i][j] += sum_of(sum[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) in.store_scaled(row + i, column + j, total[i][j]);
  }
}

/// y of one row of x and one of w. Four chains of sums, because an instruction waits for the
/// previous one of its chain.
template <typename T>
EK_AVX512_VNNI_INLINE void multiply_row(const Int8Matmul<T>& in, std::int64_t row,
                                        std::int64_t column) {
  constexpr int kChains = 4;
  constexpr std::int64_t kPage = 4096;  // bytes, over whose end the processor does not fetch ahead
  const Tile tile{in.x + row * in.depth, in.w + column * in.w_stride, 0, 0};
  std::int64_t total = 0;
  for (std::int64_t first = 0; first < in.depth; first += kBlock) {
    const auto last = std::min(in.depth, first + kBlock);
    __m512i sum[kChains][1][1];
    for (auto& each : sum) each[0][0] = _mm512_setzero_si512();
    auto k = first;
    for (; k + kChains * kStep <= last; k += kChains * kStep) {
      prefetch(tile.w + k, kPage);
      prefetch(tile.w + k, kPage + 64);
#pragma GCC unroll 4
      for (int chain = 0; chain < kChains; ++chain) {
        add_products<1, 1>(sum[chain], tile, k + chain * kStep, ~0U);
      }
    }
    for (; k + kStep <= last; k += kStep) add_products<1, 1>(sum[0], tile, k, ~0U);
    if (k < last) add_products<1, 1>(sum[1], tile, k, (1U << (last - k)) - 1);
    total += sum_of(_mm512_add_epi32(_mm512_add_epi32(sum[0][0][0], sum[1][0][0]),
                                     _mm512_add_epi32(sum[2][0][0], sum[3][0][0])));
  }
  in.store_scaled(row, column, total);
}

/// All rows of x times four rows of w, which stay in the cache meanwhile.
template <typename T>
EK_AVX512_VNNI_INLINE void multiply_columns(const Int8Matmul<T>& in, std::int64_t column) {
  std::int64_t row = 0;
  for (; row + 4 <= in.rows; row += 4) multiply_tile<4, 4>(in, row, column);
  for (; row < in.rows; ++row) multiply_tile<1, 4>(in, row, column);
}

template <typename T>
EK_AVX512_VNNI void multiply(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  auto column = begin;
  if (in.rows > 1) {
    for (; column + 4 <= end; column += 4) multiply_columns(in, column);
  }
  for (; column < end; ++column) {  // one row of x reads w sequentially, which is fastest
    for (std::int64_t row = 0; row < in.rows; ++row) multiply_row(in, row, column);
  }
}

}  // namespace

template <typename T>
void int8_matmul_avx512(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  multiply(in, begin, end);
}

template void int8_matmul_avx512(const Int8Matmul<float>&, std::int64_t, std::int64_t);
template void int8_matmul_avx512(const Int8Matmul<Bf16>&, std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cpu
