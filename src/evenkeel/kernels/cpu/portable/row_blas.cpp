// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/row_blas.h"

#include <cmath>

#include "evenkeel/kernels/cpu/common/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

template <typename T, typename F>
[[gnu::always_inline]] inline double dot(const T* a, const F* b, std::int64_t width) {
  return sum_over(width, [a, b](std::int64_t j) { return load(a + j) * load(b + j); });
}

/// 1 / |v|, or 1 for zeros.
template <typename T>
[[gnu::always_inline]] inline double inverse_length(const T* v, std::int64_t width) {
  const double squares = dot(v, v, width);
  return squares == 0 ? 1 : 1 / std::sqrt(squares);
}

template <typename T>
[[gnu::always_inline]] inline void scale(const T* __restrict row, double factor, T* __restrict to,
                                         std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) store(to + j, factor * load(row + j));
}

template <typename T, typename F>
[[gnu::always_inline]] inline void axpby(const T* __restrict row, double factor,
                                         const F* __restrict other, double less, T* __restrict to,
                                         std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) {
    store(to + j, factor * load(row + j) - less * load(other + j));
  }
}

}  // namespace

template <typename T, typename F>
EK_CLONES double dot_row(const T* a, const F* b, std::int64_t width) {
  return dot(a, b, width);
}

template <typename T>
EK_CLONES void scale_row(const T* row, double factor, T* to, std::int64_t width) {
  scale(row, factor, to, width);
}

template <typename T>
EK_CLONES void axpy_row(const T* __restrict row, double factor, double* __restrict sums,
                        std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) sums[j] += factor * load(row + j);
}

template <typename T>
EK_CLONES void axpby_row(const T* row, double factor, const OpMathType<T>* other, double less,
                         T* to, std::int64_t width) {
  axpby(row, factor, other, less, to, width);
}

template <typename T>
EK_CLONES void unit_row(T* __restrict v, std::int64_t width) {
  const double factor = inverse_length(v, width);
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) store(v + j, factor * load(v + j));
}

template <typename T>
EK_CLONES void add_squares_of_row(const T* __restrict row, double* __restrict sums,
                                  std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) sums[j] += load(row + j) * load(row + j);
}

template <typename T>
EK_CLONES void scale_columns_of_row(const double* __restrict factors, T* __restrict row,
                                    std::int64_t width) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) store(row + j, factors[j] * load(row + j));
}

template <typename T>
EK_CLONES void weight_norm_row(const T* v, OpMathType<T> gain, T* w, std::int64_t width) {
  scale(v, static_cast<double>(gain) * inverse_length(v, width), w, width);
}

template <typename T>
EK_CLONES double weight_norm_row_backward(const T* dw, const T* v, OpMathType<T> gain, T* dv,
                                          std::int64_t width) {
  const double rho = inverse_length(v, width);
  const double along = dot(dw, v, width) * rho;
  const double factor = static_cast<double>(gain) * rho;
  axpby(dw, factor, v, factor * along * rho, dv, width);
  return along;
}

#define EK_INSTANTIATE(T)                                                                    \
  template double dot_row(const T*, const T*, std::int64_t);                                 \
  template void scale_row(const T*, double, T*, std::int64_t);                               \
  template void axpy_row(const T*, double, double*, std::int64_t);                           \
  template void axpby_row(const T*, double, const OpMathType<T>*, double, T*, std::int64_t); \
  template void unit_row(T*, std::int64_t);                                                  \
  template void add_squares_of_row(const T*, double*, std::int64_t);                         \
  template void scale_columns_of_row(const double*, T*, std::int64_t);                       \
  template void weight_norm_row(const T*, OpMathType<T>, T*, std::int64_t);                  \
  template double weight_norm_row_backward(const T*, const T*, OpMathType<T>, T*, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
template double dot_row(const Bf16*, const float*, std::int64_t);
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
