// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/weigh_row.h"

#include "evenkeel/kernels/cpu/reduce.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES void weigh_row(const T* __restrict row, Wide<T> weight, T* __restrict to,
                         std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) {
    store(to + j, weight * static_cast<Wide<T>>(load(row + j)));
  }
}

template <typename T>
EK_CLONES double weigh_row_backward(const T* __restrict dy, const T* __restrict row, Wide<T> weight,
                                    T* __restrict drow, std::int64_t width) {
  const double sum = sum_over(width, [=](std::int64_t j) { return load(dy + j) * load(row + j); });
  weigh_row(dy, weight, drow, width);
  return sum;
}

#define EK_INSTANTIATE(T)                                       \
  template void weigh_row(const T*, Wide<T>, T*, std::int64_t); \
  template double weigh_row_backward(const T*, const T*, Wide<T>, T*, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
