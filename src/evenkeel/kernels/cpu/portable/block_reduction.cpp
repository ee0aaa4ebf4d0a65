// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/block_reduction.h"

#include "evenkeel/kernels/cpu/common/row_common.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES double sum_of_squares(const T* __restrict x, std::int64_t count) {
  return squares_of_row(x, count);
}

EK_CLONES void tree_sum(double* sums, std::int64_t blocks, std::int64_t width, std::int64_t begin,
                        std::int64_t end) {
  for (std::int64_t stride = 1; stride < blocks; stride *= 2) {
    for (std::int64_t block = 0; block + stride < blocks; block += 2 * stride) {
      double* __restrict const to = sums + block * width;
      const double* __restrict const from = to + stride * width;
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
  }
}

template double sum_of_squares(const double*, std::int64_t);
template double sum_of_squares(const float*, std::int64_t);
template double sum_of_squares(const Bf16*, std::int64_t);

}  // namespace evenkeel::kernels::cpu
