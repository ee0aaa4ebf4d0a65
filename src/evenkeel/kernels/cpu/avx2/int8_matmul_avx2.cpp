// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx2/int8_matmul_avx2.h"

#include <immintrin.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/common/prefetch.h"

#if defined(__x86_64__) && !defined(EK_EMULATED)
#define EK_AVX2 __attribute__((target("avx2")))
#else
#define EK_AVX2
#endif
#define EK_AVX2_INLINE EK_AVX2 __attribute__((always_inline)) inline

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kWide = 16;     // 16-bit integers of a vector
constexpr std::int64_t kBlock = 4096;  // columns of w whose sums are added in 32 bits
/// Each of the eight 32-bit sums of a vector has an eighth of the products of a block.
static_assert(kBlock / 8 * 32767 * 127 <= 0x7fffffff);

/// The sum of eight 32-bit integers, which may need more than 32 bits.
EK_AVX2_INLINE std::int64_t sum_of_eight(__m256i v) {
  const auto low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v));
  const auto high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1));
  const auto four = _mm256_add_epi64(low, high);
  const auto two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
  return two[0] + two[1];
}

EK_AVX2_INLINE __m256i load_int8(const std::int8_t* from) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
EK_AVX2_INLINE __m256i load_int16(const std::int16_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// x[k] * w[k], summed over [k, end).
EK_AVX2_INLINE std::int64_t dot_of(const std::int16_t* x, const std::int8_t* w, std::int64_t k,
                                   std::int64_t end) {
  std::int64_t sum = 0;
  for (; k < end; ++k) sum += std::int64_t{x[k]} * w[k];
  return sum;
}

/// The products of kRows rows of x and kColumns rows of w: as many sums as the registers hold.
/// \tparam kChains  vectors of sums of a value of y, because an instruction waits for the previous
///                  one of its chain
template <int kRows, int kColumns, int kChains>
struct Int8Tile {
  static constexpr int kValues = kRows * kColumns;  // of y
  static constexpr auto kStep = kWide * kChains;    // terms of an iteration

  const std::int16_t* x;
  const std::int8_t* w;
  std::int64_t x_stride, w_stride;

  /// total += the products of terms [first, last), a multiple of kStep and at most kBlock.
  /// \param ahead  bytes from what is read to what is prefetched; 0: no prefetch
  EK_AVX2_INLINE void add_products(std::int64_t (&total)[kValues], std::int64_t first,
                                   std::int64_t last, std::int64_t ahead) const {
    __m256i sum[kChains * kValues];
#pragma GCC unroll 16
    for (auto& each : sum) each = __m256i{};
    for (auto k = first; k < last; k += kStep) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        if (ahead > 0) prefetch(w + j * w_stride + k, ahead);
      }
#pragma GCC unroll 4
      for (int chain = 0; chain < kChains; ++chain)
        add_terms(sum + chain * kValues, k + chain * kWide);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kValues; ++i) {
#pragma GCC unroll 4
      for (int chain = 1; chain < kChains; ++chain) {
        sum[i] = _mm256_add_epi32(sum[i], sum[chain * kValues + i]);
      }
      total[i] += sum_of_eight(sum[i]);
    }
  }

  /// sum += the products of the sixteen terms from k on.
  EK_AVX2_INLINE void add_terms(__m256i* sum, std::int64_t k) const {
    __m256i right[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) right[j] = load_int8(w + j * w_stride + k);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      const auto left = load_int16(x + i * x_stride + k);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        auto& to = sum[i * kColumns + j];
        to = _mm256_add_epi32(to, _mm256_madd_epi16(left, right[j]));
      }
    }
  }
};

/// kRows rows and kColumns columns of y, from (row, column) on.
/// \param ahead  of Int8Tile::add_products()
template <int kRows, int kColumns, int kChains, typename T>
EK_AVX2_INLINE void multiply_tile(const Int8Matmul<T>& in, std::int64_t row, std::int64_t column,
                                  std::int64_t ahead) {
  using Tile = Int8Tile<kRows, kColumns, kChains>;
  const Tile tile{in.x + row * in.depth, in.w + column * in.w_stride, in.depth, in.w_stride};
  const auto whole = in.depth / Tile::kStep * Tile::kStep;
  std::int64_t total[Tile::kValues] = {};
  for (std::int64_t first = 0; first < whole; first += kBlock) {
    tile.add_products(total, first, std::min(whole, first + kBlock), ahead);
  }
#pragma GCC unroll 16
  for (int i = 0; i < Tile::kValues; ++i) {
    const auto r = i / kColumns, c = i % kColumns;
    if (whole < in.depth) {
      total[i] += dot_of(tile.x + r * in.depth, tile.w + c * in.w_stride, whole, in.depth);
    }
    in.store_scaled(row + r, column + c, total[i]);
  }
}

/// All rows of x times kColumns rows of w, which stay in the cache meanwhile.
template <int kColumns, typename T>
EK_AVX2_INLINE void multiply_columns(const Int8Matmul<T>& in, std::int64_t column) {
  constexpr std::int64_t kTilesAhead = 6;  // whose rows of w are prefetched
  auto ahead = kTilesAhead * kColumns * in.w_stride;
  std::int64_t row = 0;
  for (; row + 4 <= in.rows; row += 4) {
    multiply_tile<4, kColumns, 1>(in, row, column, ahead);
    ahead = 0;
  }
  for (; row < in.rows; ++row) multiply_tile<1, kColumns, 1>(in, row, column, 0);
}

/// A column of at most four rows of x, which reads w sequentially.
template <typename T>
EK_AVX2_INLINE void multiply_sequentially(const Int8Matmul<T>& in, std::int64_t column) {
  constexpr std::int64_t kPage = 4096;  // bytes, over whose end the processor does not fetch ahead
  if (in.rows == 4) return multiply_tile<4, 1, 2>(in, 0, column, kPage);
  if (in.rows == 3) return multiply_tile<3, 1, 2>(in, 0, column, kPage);
  if (in.rows == 2) return multiply_tile<2, 1, 4>(in, 0, column, kPage);
  multiply_tile<1, 1, 4>(in, 0, column, kPage);
}

template <typename T>
EK_AVX2 void multiply_avx2(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  auto column = begin;
  if (in.rows > 4) {
    for (; column + 2 <= end; column += 2) multiply_columns<2>(in, column);
    for (; column < end; ++column) multiply_columns<1>(in, column);
  }
  for (; column < end; ++column) multiply_sequentially(in, column);
}

}  // namespace

template <typename T>
void int8_matmul_avx2(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  multiply_avx2(in, begin, end);
}

template void int8_matmul_avx2(const Int8Matmul<float>&, std::int64_t, std::int64_t);
template void int8_matmul_avx2(const Int8Matmul<Bf16>&, std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cpu
