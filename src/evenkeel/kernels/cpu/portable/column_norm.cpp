// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/column_norm.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES void add_column_sums(const T* __restrict x, const double* __restrict centre,
                               double* __restrict sums, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) sums[i] += load(x + i) - centre[i];
  }
}

template <typename T>
EK_CLONES void add_column_squares(const T* __restrict x, const double* __restrict centre,
                                  double* __restrict sums, std::int64_t rows, std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row, x += width) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const double deviation = load(x + i) - centre[i];
      sums[i] += deviation * deviation;
    }
  }
}

template <typename T>
EK_CLONES void column_norm_rows(const T* __restrict x, const ColumnNormParameters& parameters,
                                T* __restrict y, std::int64_t rows, std::int64_t width) {
  const auto [centre, rho, gain, bias] = parameters;
  for (std::int64_t row = 0; row < rows; ++row, x += width, y += width) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      store(y + i, (load(x + i) - centre[i]) * rho[i] * gain[i] + bias[i]);
    }
  }
}

template <typename T>
EK_CLONES void add_column_gradients(const T* __restrict dy, const T* __restrict x,
                                    const ColumnNormParameters& parameters,
                                    double* __restrict dgain, double* __restrict dbias,
                                    std::int64_t rows, std::int64_t width) {
  const double *const centre = parameters.centre, *const rho = parameters.rho;
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const double upstream = load(dy + i);
      dgain[i] += upstream * ((load(x + i) - centre[i]) * rho[i]);
      dbias[i] += upstream;
    }
  }
}

template <typename T>
EK_CLONES void column_norm_rows_backward(const T* __restrict dy, const T* __restrict x,
                                         const ColumnNormParameters& parameters,
                                         const ColumnProjections& projections, T* __restrict dx,
                                         std::int64_t rows, std::int64_t width) {
  const double *const centre = parameters.centre, *const rho = parameters.rho,
                      *const gain = parameters.gain;
  const auto [mean, projection] = projections;
  for (std::int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      const double x_hat = (load(x + i) - centre[i]) * rho[i];
      store(dx + i, gain[i] * (rho[i] * (load(dy + i) - mean[i]) - x_hat * projection[i]));
    }
  }
}

#define EK_INSTANTIATE(T)                                                                         \
  template void add_column_sums(const T*, const double*, double*, std::int64_t, std::int64_t);    \
  template void add_column_squares(const T*, const double*, double*, std::int64_t, std::int64_t); \
  template void column_norm_rows(const T*, const ColumnNormParameters&, T*, std::int64_t,         \
                                 std::int64_t);                                                   \
  template void add_column_gradients(const T*, const T*, const ColumnNormParameters&, double*,    \
                                     double*, std::int64_t, std::int64_t);                        \
  template void column_norm_rows_backward(const T*, const T*, const ColumnNormParameters&,        \
                                          const ColumnProjections&, T*, std::int64_t,             \
                                          std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
