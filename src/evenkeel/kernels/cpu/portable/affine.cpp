// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/affine.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES void affine_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                          const OpMathType<T>* __restrict bias, T* __restrict y,
                          std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, load(x + i) * load(gain + i) + load(bias + i));
  }
}

template <typename T>
EK_CLONES void affine_row_backward(const AffineGradient<T>& row, std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const OpMathType<T>* __restrict const gain = row.gain;
  T* __restrict const dx = row.dx;
  double* __restrict const dgain = row.dgain;
  double* __restrict const dbias = row.dbias;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i);
    dgain[i] += upstream * load(x + i);
    dbias[i] += upstream;
    store(dx + i, upstream * load(gain + i));
  }
}

#define EK_INSTANTIATE(T)                                                            \
  template void affine_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                           std::int64_t);                                            \
  template void affine_row_backward(const AffineGradient<T>&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
