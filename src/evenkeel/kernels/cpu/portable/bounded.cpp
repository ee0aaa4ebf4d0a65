// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/bounded.h"

#include <algorithm>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/bounded_avx512.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"
#include "evenkeel/kernels/cpu/portable/bounded_functions.h"

namespace evenkeel::kernels::cpu {

namespace {

template <BoundedKind kKind>
[[gnu::always_inline]] inline ValueAndSlope value_and_slope(double x) {
  return kKind == BoundedKind::tanh ? tanh_with_slope(x) : erf_with_slope(x);
}

template <BoundedKind kKind, typename T>
[[gnu::always_inline]] inline void forward(const T* __restrict x,
                                           const OpMathType<T>* __restrict gain,
                                           const OpMathType<T>* __restrict bias, T* __restrict y,
                                           std::int64_t width,
                                           const BoundedParameters& parameters) {
  const double alpha = parameters.alpha, shift = parameters.shift;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, value_and_slope<kKind>(alpha * load(x + i) + shift).value * load(gain + i) +
                     load(bias + i));
  }
}

/// Some values at a time, so that the function is computed once for all sums.
template <BoundedKind kKind, typename T>
[[gnu::always_inline]] inline void backward(const BoundedGradient<T>& row, std::int64_t width,
                                            const BoundedParameters& parameters) {
  constexpr std::int64_t kAtOnce = 256;
  double slope[kAtOnce];  // g f'
  const double alpha = parameters.alpha, shift = parameters.shift;
  for (std::int64_t first = 0; first < width; first += kAtOnce) {
    const auto count = std::min(kAtOnce, width - first);
    const T* __restrict const dy = row.dy + first;
    const T* __restrict const x = row.x + first;
    const OpMathType<T>* __restrict const gain = row.gain + first;
    T* __restrict const dx = row.dx + first;
    double* __restrict const dgain = row.dgain + first;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const auto f = value_and_slope<kKind>(alpha * load(x + i) + shift);
      const double upstream = load(dy + i), through = upstream * load(gain + i) * f.slope;
      slope[i] = through;
      dgain[i] += upstream * f.value;
      store(dx + i, alpha * through);
    }
    const double* const slopes = slope;
    *row.dalpha += sum_over(count, [slopes, x](std::int64_t i) { return slopes[i] * load(x + i); });
    *row.dshift += sum_over(count, [slopes](std::int64_t i) { return slopes[i]; });
    if (row.dbias == nullptr) continue;
    double* __restrict const dbias = row.dbias + first;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) dbias[i] += load(dy + i);
  }
}

}  // namespace

template <typename T>
EK_CLONES void bounded_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                           const OpMathType<T>* __restrict bias, T* __restrict y,
                           std::int64_t width, const BoundedParameters& parameters) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (bounded_row_avx512(x, gain, bias, y, width, parameters)) return;
  }
  parameters.function == BoundedKind::tanh
      ? forward<BoundedKind::tanh>(x, gain, bias, y, width, parameters)
      : forward<BoundedKind::erf>(x, gain, bias, y, width, parameters);
}

template <typename T>
EK_CLONES void bounded_row_backward(const BoundedGradient<T>& row, std::int64_t width,
                                    const BoundedParameters& parameters) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (bounded_row_backward_avx512(row, width, parameters)) return;
  }
  parameters.function == BoundedKind::tanh ? backward<BoundedKind::tanh>(row, width, parameters)
                                           : backward<BoundedKind::erf>(row, width, parameters);
}

#define EK_INSTANTIATE(T)                                                             \
  template void bounded_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                            std::int64_t, const BoundedParameters&);                  \
  template void bounded_row_backward(const BoundedGradient<T>&, std::int64_t,         \
                                     const BoundedParameters&);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
