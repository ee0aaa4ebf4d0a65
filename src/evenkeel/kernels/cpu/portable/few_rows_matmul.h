// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

/// So few rows of x read w row by row, which is faster, and prefetch a page ahead: the processor
/// does not fetch ahead over the end of a page.
inline constexpr std::int64_t kMaxSequentialRows = 4;
inline constexpr std::int64_t kPage = 4096;  // bytes

/// Operands of y = x w^T for few rows of x, as in decoding. Each row of w is read once from memory,
/// and not packed.
/// \tparam X  float: x is by few_rows_operand(); Bf16: x as it is, for few_rows_matmul_avx512();
///            std::uint32_t: x is by few_rows_amx_operand()
template <typename T, typename X = float>
struct FewRowsMatmul {
  const X* x = nullptr;  // [rows, depth]
  const T* w = nullptr;  // [columns, depth], rows `w_stride` apart
  T* y = nullptr;        // [rows, columns], rows `y_stride` apart; written
  std::int64_t rows = 0, depth = 0, w_stride = 0, y_stride = 0;
};

/// A row of x in the order of FewRowsMatmul: for bfloat16 the even columns of each sixteen, then
/// the odd ones.
/// \param row  [depth]
/// \param to   [depth]; written
template <typename T>
void few_rows_operand(const T* row, std::int64_t depth, float* to);

/// Columns [begin, end) of y. Sums are in float32: sixteen interleaved sums, their binary tree,
/// then the last depth % 16 terms, whatever the other rows and columns are. The result is rounded
/// once.
template <typename T>
void few_rows_matmul(const FewRowsMatmul<T>& in, std::int64_t begin, std::int64_t end);

}  // namespace evenkeel::kernels::cpu
