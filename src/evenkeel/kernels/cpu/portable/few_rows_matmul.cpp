// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/few_rows_matmul.h"

#include <cstring>

#include "evenkeel/kernels/cpu/common/prefetch.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kPage = 4096;  // bytes

/// Sixteen values of a row of w in the order of few_rows_operand().
[[gnu::always_inline]] inline void load_columns(Vec16<float>& to, const float* from) {
  to.load(from);
}
/// Two bfloat16 are a word, whose halves are the upper halves of two floats: no values are moved
/// between lanes.
[[gnu::always_inline]] inline void load_columns(Vec16<float>& to, const Bf16* from) {
  static_assert(Vec16<float>::kCount == 2);
  using Words = VectorOf<std::uint32_t, 32>::Type;
  Words pairs;
  load_vector(pairs, from);
  const Words even = pairs << 16, odd = pairs & 0xffff0000U;
  std::memcpy(&to.part[0], &even, sizeof even);
  std::memcpy(&to.part[1], &odd, sizeof odd);
}

/// kRows rows of x times kColumns rows of w: as many sums as the registers hold.
template <int kRows, int kColumns, typename T>
[[gnu::always_inline]] inline void multiply_tile(const FewRowsMatmul<T>& in, std::int64_t row,
                                                 std::int64_t column) {
  const float* const x = in.x + row * in.depth;
  const T* const w = in.w + column * in.w_stride;
  Vec16<float> sum[kRows][kColumns], left[kRows], right;
  std::int64_t k = 0;
  for (; k + kLanes <= in.depth; k += kLanes) {
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) left[i].load(x + i * in.depth + k);
#pragma GCC unroll 8
    for (int j = 0; j < kColumns; ++j) {
      const T* const at = w + j * in.w_stride + k;
      load_columns(right, at);
      // A row of the next tile, or the next page: the processor does not fetch ahead over the end
      // of a page.
      prefetch(at, kColumns == 1 ? kPage
                                 : kColumns * in.w_stride * static_cast<std::int64_t>(sizeof(T)));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
        for (int part = 0; part < right.kCount; ++part) {
          sum[i][j].part[part] += left[i].part[part] * right.part[part];
        }
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      float total = horizontal_sum(sum[i][j]);
      for (auto rest = k; rest < in.depth; ++rest) {
        total += x[i * in.depth + rest] * static_cast<float>(load(w + j * in.w_stride + rest));
      }
      store(in.y + (row + i) * in.y_stride + column + j, static_cast<double>(total));
    }
  }
}

/// All rows of x times kColumns rows of w, which stay in the cache meanwhile.
template <int kColumns, typename T>
[[gnu::always_inline]] inline void multiply_columns(const FewRowsMatmul<T>& in,
                                                    std::int64_t column) {
  std::int64_t row = 0;
  for (; row + 2 <= in.rows; row += 2) multiply_tile<2, kColumns>(in, row, column);
  if (row < in.rows) multiply_tile<1, kColumns>(in, row, column);
}

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
EK_CLONES void few_rows_matmul(const FewRowsMatmul<T>& in, std::int64_t begin, std::int64_t end) {
  auto column = begin;
  if (in.rows == 1) {  // reads w sequentially, which is fastest
    for (; column < end; ++column) multiply_tile<1, 1>(in, 0, column);
  }
  for (; column + 2 <= end; column += 2) multiply_columns<2>(in, column);
  if (column < end) multiply_columns<1>(in, column);
}

template void few_rows_matmul(const FewRowsMatmul<float>&, std::int64_t, std::int64_t);
template void few_rows_matmul(const FewRowsMatmul<Bf16>&, std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cpu
