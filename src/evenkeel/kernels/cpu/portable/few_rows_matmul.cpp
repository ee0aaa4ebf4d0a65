// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"

#include <cstring>

#include "evenkeel/kernels/cpu/common/isa_versions.h"
#include "evenkeel/kernels/cpu/common/prefetch.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The vector `part` of sixteen values of a row of w, in the order of few_rows_operand().
template <typename V>
[[gnu::always_inline]] inline void load_columns(V& to, const float* from, int part) {
  load_vector(to, from + part * static_cast<int>(sizeof(V) / sizeof(float)));
}
/// Two bfloat16 are a word, whose halves are the upper halves of two floats: the even columns and
/// the odd ones, each of which is a half of the vectors.
template <typename V>
[[gnu::always_inline]] inline void load_columns(V& to, const Bf16* from, int part) {
  constexpr int kVectors = 64 / static_cast<int>(sizeof(V));  // of sixteen values
  constexpr int kShare = kVectors == 4 ? 2 : 1;               // of even columns; also of odd ones
  using Words = typename VectorOf<std::uint32_t, 32 / kShare>::Type;
  Words pairs;
  load_vector(pairs, from + part % kShare * (kLanes / kShare));
  const Words even = pairs << 16, odd = pairs & 0xffff0000U;
  if constexpr (kVectors == 1) {
    to = __builtin_bit_cast(V, __builtin_shufflevector(even, odd, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                                       11, 12, 13, 14, 15));
  } else {
    to = __builtin_bit_cast(V, part < kShare ? even : odd);
  }
}

/// Keeps a vector in a register: GCC would load it again for each product.
template <typename V>
[[gnu::always_inline]] inline void keep_in_register([[maybe_unused]] V& x) {
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(EK_VECTOR_BYTES)
  if constexpr (sizeof(V) == 32) asm("" : "+x"(x));
#endif
}

/// horizontal_sum() in registers.
[[gnu::always_inline]] inline float sum_of_lanes(const Vec16<float, 16>& lanes) {
  const auto four = (lanes.part[0] + lanes.part[2]) + (lanes.part[1] + lanes.part[3]);
  const auto two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return two[0] + two[1];
}
[[gnu::always_inline]] inline float sum_of_lanes(const Vec16<float, 32>& lanes) {
  const auto eight = lanes.part[0] + lanes.part[1];
  const auto four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  const auto two = four + __builtin_shufflevector(four, four, 2, 3, 0, 1);
  return two[0] + two[1];
}
[[gnu::always_inline]] inline float sum_of_lanes(const Vec16<float, 64>& lanes) {
  const auto& all = lanes.part[0];
  Vec16<float, 32> halves;
  halves.part[0] = __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7);
  halves.part[1] = __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
  return sum_of_lanes(halves);
}

/// few_rows_matmul() for vectors of kBytes.
template <int kBytes>
struct FewRowsPass {
  using Lanes = Vec16<float, kBytes>;
  using V = typename Lanes::V;
  // Columns and rows of a tile: its sums leave registers for an operand of each side.
  static constexpr int kTile = kBytes == 64 ? 4 : 2;
  static constexpr int kTileRows = kBytes == 64 ? 4 : kBytes == 32 ? 3 : 2;

  template <typename T>
  [[gnu::always_inline]] static void multiply(const FewRowsMatmul<T>& in, std::int64_t begin,
                                              std::int64_t end) {
    auto column = begin;
    if (in.rows > kMaxSequentialRows) {
      for (; column + kTile <= end; column += kTile) multiply_columns<kTile>(in, column);
    }
    for (; column < end; ++column) multiply_columns<1>(in, column);
  }

 private:
  /// All rows of x times kColumns rows of w, which stay in the cache meanwhile.
  template <int kColumns, typename T>
  [[gnu::always_inline]] static void multiply_columns(const FewRowsMatmul<T>& in,
                                                      std::int64_t column) {
    constexpr int kRows = kColumns == 1 ? 4 : kTileRows;
    std::int64_t row = 0;
    for (; row + kRows <= in.rows; row += kRows) multiply_tile<kRows, kColumns>(in, row, column);
    if constexpr (kRows > 2) {
      for (; row + 2 <= in.rows; row += 2) multiply_tile<2, kColumns>(in, row, column);
    }
    if (row < in.rows) multiply_tile<1, kColumns>(in, row, column);
  }

  /// kRows rows of x times kColumns rows of w: as many sums as the registers hold.
  template <int kRows, int kColumns, typename T>
  [[gnu::always_inline]] static void multiply_tile(const FewRowsMatmul<T>& in, std::int64_t row,
                                                   std::int64_t column) {
    const float* const x = in.x + row * in.depth;
    const T* const w = in.w + column * in.w_stride;
    V sum[Lanes::kCount][kRows][kColumns];
    clear(sum);
    // All tiles of these columns fetch a part of the rows of the next ones.
    const auto tiles = kColumns == 1 ? 1 : (in.rows + kRows - 1) / kRows;
    auto wait = kColumns == 1 ? 0 : row / kRows;
    std::int64_t k = 0;
    for (; k + kLanes <= in.depth; k += kLanes) {
      if (wait == 0) {
        fetch_ahead<kColumns>(in, w + k);
        wait = tiles;
      }
      --wait;
#pragma GCC unroll 4
      for (int part = 0; part < Lanes::kCount; ++part) {
        V right[kColumns], left;
#pragma GCC unroll 4
        for (int j = 0; j < kColumns; ++j) load_columns(right[j], w + j * in.w_stride + k, part);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          load_vector(left, x + i * in.depth + k + part * Lanes::kPartSize);
          keep_in_register(left);
#pragma GCC unroll 4
          for (int j = 0; j < kColumns; ++j) sum[part][i][j] += left * right[j];
        }
      }
    }
    store_sums(in, row, column, k, sum);
  }

  /// Stores the sums of a tile with the terms from k on, which are fewer than sixteen.
  template <int kRows, int kColumns, typename T>
  [[gnu::always_inline]] static void store_sums(const FewRowsMatmul<T>& in, std::int64_t row,
                                                std::int64_t column, std::int64_t k,
                                                const V (&sum)[Lanes::kCount][kRows][kColumns]) {
    const float* const x = in.x + row * in.depth;
    const T* const w = in.w + column * in.w_stride;
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        Lanes lanes;
#pragma GCC unroll 4
        for (int part = 0; part < Lanes::kCount; ++part) lanes.part[part] = sum[part][i][j];
        float total = sum_of_lanes(lanes);
        for (auto rest = k; rest < in.depth; ++rest) {
          total += x[i * in.depth + rest] * static_cast<float>(load(w + j * in.w_stride + rest));
        }
        store(in.y + (row + i) * in.y_stride + column + j, static_cast<double>(total));
      }
    }
  }

  /// In registers: GCC makes a call of `V sum[...] = {}`.
  template <int kRows, int kColumns>
  [[gnu::always_inline]] static void clear(V (&sum)[Lanes::kCount][kRows][kColumns]) {
#pragma GCC unroll 64
    for (int i = 0; i < Lanes::kCount * kRows * kColumns; ++i) {
      sum[i / (kRows * kColumns)][i / kColumns % kRows][i % kColumns] = V{};
    }
  }

  /// Prefetches a row of the next columns, or the next page: the processor does not fetch ahead
  /// over the end of a page.
  template <int kColumns, typename T>
  [[gnu::always_inline]] static void fetch_ahead(const FewRowsMatmul<T>& in, const T* at) {
    const auto next_tile = kColumns * in.w_stride * static_cast<std::int64_t>(sizeof(T));
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      prefetch(at + j * in.w_stride, kColumns == 1 ? kPage : next_tile);
    }
  }
};

/// For IsaVersions.
struct Multiply {
  template <int kBytes, typename T>
  [[gnu::always_inline]] static void run(const FewRowsMatmul<T>& in, std::int64_t begin,
                                         std::int64_t end) {
    FewRowsPass<kBytes>::multiply(in, begin, end);
  }
};

}  // namespace

template <>
void few_rows_operand(const float* row, std::int64_t depth, float* to) {
  std::memcpy(to, row, static_cast<std::size_t>(depth) * sizeof(float));
}
template <>
void few_rows_operand(const Bf16* row, std::int64_t depth, float* to) {
  constexpr std::int64_t kHalf = kLanes / 2;
  std::int64_t k = 0;
  for (; k + kLanes <= depth; k += kLanes) {
    for (std::int64_t i = 0; i < kHalf; ++i) {
      to[k + i] = static_cast<float>(load(row + k + 2 * i));
      to[k + kHalf + i] = static_cast<float>(load(row + k + 2 * i + 1));
    }
  }
  for (; k < depth; ++k) to[k] = static_cast<float>(load(row + k));
}

template <typename T>
void few_rows_matmul(const FewRowsMatmul<T>& in, std::int64_t begin, std::int64_t end) {
  IsaVersions<Multiply, FewRowsMatmul<T>, std::int64_t, std::int64_t>::run(in, begin, end);
}

template void few_rows_matmul(const FewRowsMatmul<float>&, std::int64_t, std::int64_t);
template void few_rows_matmul(const FewRowsMatmul<Bf16>&, std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cpu
