// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/int8_matmul.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evenkeel/kernels/cpu/avx2/int8_matmul_avx2.h"
#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/int8_matmul_avx512.h"
#include "evenkeel/kernels/cpu/common/isa_versions.h"

namespace evenkeel::kernels::cpu {

namespace {

/// The sum of so many products of an int16 and an int8 fits into 32 bits.
constexpr std::int64_t kBlock = 512;
constexpr std::int64_t kRows = 8;  // of x, which share a row of w in 16 bits
constexpr std::int64_t kLargest = std::numeric_limits<std::int16_t>::max();
static_assert(kBlock * kLargest * 127 <= std::numeric_limits<std::int32_t>::max());

/// The sum of x[k] * w[k] of one block. Without an OpenMP pragma GCC knows vpmaddwd.
[[gnu::always_inline]] inline std::int32_t dot(const std::int16_t* x, const std::int16_t* w,
                                               std::int64_t count) {
  std::int32_t sum = 0;
  for (std::int64_t k = 0; k < count; ++k) sum += x[k] * w[k];
  return sum;
}

/// A column of at most kRows rows of y.
template <typename T>
[[gnu::always_inline]] inline void multiply_column(const Int8Matmul<T>& in, std::int64_t row,
                                                   std::int64_t rows, std::int64_t column) {
  std::int64_t sums[kRows] = {};
  std::int16_t wide[kBlock];
  for (std::int64_t first = 0; first < in.depth; first += kBlock) {
    const auto count = std::min(kBlock, in.depth - first);
    const auto* const w = in.w + column * in.w_stride + first;
    std::copy_n(w, count, wide);
    for (std::int64_t i = 0; i < rows; ++i) {
      sums[i] += dot(in.x + (row + i) * in.depth + first, wide, count);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    in.store_scaled(row + i, column, sums[i]);
  }
}

}  // namespace

template <typename T>
EK_CLONES float quantize_to_int16(const T* row, std::int64_t depth, std::int16_t* to) {
  float largest = 0;
  bool is_finite = true;
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto size = std::abs(static_cast<float>(load(row + k)));
    is_finite = is_finite && size <= std::numeric_limits<float>::max();
    largest = std::max(largest, size);
  }
  const float scale = largest / static_cast<float>(kLargest);
  // A scale below the smallest normal float would not be exact enough: such a row is zero.
  const bool is_zero = scale < std::numeric_limits<float>::min();
  if (!is_finite || is_zero) {
    std::fill(to, to + depth, std::int16_t{0});
    return is_finite ? 0 : std::numeric_limits<float>::quiet_NaN();
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const auto nearest = std::nearbyint(static_cast<float>(load(row + k)) / scale);
    to[k] = static_cast<std::int16_t>(
        std::clamp(nearest, -static_cast<float>(kLargest), static_cast<float>(kLargest)));
  }
  return scale;
}

template <typename T>
EK_CLONES void int8_matmul_portable(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  for (auto column = begin; column < end; ++column) {
    for (std::int64_t row = 0; row < in.rows; row += kRows) {
      multiply_column(in, row, std::min(kRows, in.rows - row), column);
    }
  }
}

template <typename T>
void int8_matmul(const Int8Matmul<T>& in, std::int64_t begin, std::int64_t end) {
  if (has_avx512_vnni()) return int8_matmul_avx512(in, begin, end);
  if (vector_bytes() >= 32) return int8_matmul_avx2(in, begin, end);
  int8_matmul_portable(in, begin, end);
}

template float quantize_to_int16(const float*, std::int64_t, std::int16_t*);
template float quantize_to_int16(const Bf16*, std::int64_t, std::int16_t*);
template void int8_matmul_portable(const Int8Matmul<float>&, std::int64_t, std::int64_t);
template void int8_matmul_portable(const Int8Matmul<Bf16>&, std::int64_t, std::int64_t);
template void int8_matmul(const Int8Matmul<float>&, std::int64_t, std::int64_t);
template void int8_matmul(const Int8Matmul<Bf16>&, std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cpu
