// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/tree_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "evenkeel/kernels/cpu/common/simd.h"

namespace evenkeel::kernels::cpu {

namespace {

constexpr std::int64_t kColumns = 512;  // of the partial sums, which stay in the first-level cache
constexpr std::size_t kLevels = 21;

template <typename T>
using Partials = std::array<std::array<T, kColumns>, kLevels>;

template <typename T>
EK_CLONES void add_rows(const T* left, const T* right, std::int64_t count, T* out) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = left[i] + right[i];
}

/// The sum of rows [first, first + size), columns [begin, begin + count): a row itself, or the
/// partial sum of `level`. The left subtree has the largest power of two below `size`.
template <typename T>
const T* sum_of(const std::vector<const T*>& rows, std::size_t first, std::size_t size,
                std::int64_t begin, std::int64_t count, Partials<T>& partials, std::size_t level) {
  if (size == 1) return rows[first] + begin;
  const auto half = std::bit_floor(size - 1);
  const T* const left = sum_of(rows, first, half, begin, count, partials, level);
  const T* const right = sum_of(rows, first + half, size - half, begin, count, partials, level + 1);
  add_rows(left, right, count, partials[level].data());
  return partials[level].data();
}

}  // namespace

template <typename T>
void sum_of_rows(const std::vector<const T*>& rows, std::int64_t count, T* out) {
  if (rows.size() == 2) return add_rows(rows[0], rows[1], count, out);
  Partials<T> partials;
  for (std::int64_t begin = 0; begin < count; begin += kColumns) {
    const auto columns = std::min(kColumns, count - begin);
    const T* const sum = sum_of(rows, 0, rows.size(), begin, columns, partials, 0);
    std::copy_n(sum, columns, out + begin);
  }
}

template void sum_of_rows(const std::vector<const float*>&, std::int64_t, float*);
template void sum_of_rows(const std::vector<const double*>&, std::int64_t, double*);

}  // namespace evenkeel::kernels::cpu
