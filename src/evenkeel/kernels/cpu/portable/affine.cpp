// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/affine.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/affine_avx512.h"

namespace evenkeel::kernels::cpu {

namespace {

/// kRows rows from `first` on, in one pass over the gradients of gain and bias.
template <int kRows, typename T>
[[gnu::always_inline]] inline void backward_of(const AffineGradient<T>& args, std::int64_t first,
                                               std::int64_t width) {
  const T* __restrict const dy = args.dy + first * width;
  const T* __restrict const x = args.x + first * width;
  const OpMathType<T>* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + first * width;
  for (int r = 0; r < kRows; ++r) {
    const T* __restrict const upstream = dy + r * width;
    T* __restrict const to = dx + r * width;
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) store(to + i, load(upstream + i) * load(gain + i));
  }
  if (double* __restrict const dgain = args.dgain) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      double sum = dgain[i];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum += load(dy + r * width + i) * load(x + r * width + i);
      dgain[i] = sum;
    }
  }
  if (double* __restrict const dbias = args.dbias) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      double sum = dbias[i];
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) sum += load(dy + r * width + i);
      dbias[i] = sum;
    }
  }
}

}  // namespace

template <typename T>
EK_CLONES void affine_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                          const OpMathType<T>* __restrict bias, T* __restrict y,
                          std::int64_t width) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (affine_row_avx512(x, gain, bias, y, width)) return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, load(x + i) * load(gain + i) + load(bias + i));
  }
}

template <typename T>
EK_CLONES void affine_backward(const AffineGradient<T>& args, std::int64_t rows,
                               std::int64_t width) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (affine_backward_avx512(args, rows, width)) return;
  }
  constexpr std::int64_t kAtOnce = 4;
  std::int64_t row = 0;
  for (; row + kAtOnce <= rows; row += kAtOnce) backward_of<kAtOnce>(args, row, width);
  for (; row < rows; ++row) backward_of<1>(args, row, width);
}

#define EK_INSTANTIATE(T)                                                            \
  template void affine_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                           std::int64_t);                                            \
  template void affine_backward(const AffineGradient<T>&, std::int64_t, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
