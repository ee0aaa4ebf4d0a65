// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/seed_norm.h"

#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"
#include "evenkeel/kernels/cpu/portable/bounded_functions.h"

namespace evenkeel::kernels::cpu {

namespace {

struct RowStatistics {
  double rho;  // 1 / sqrt(mean(x^2) + epsilon)
  ValueAndSlope t;
};

template <typename T>
[[gnu::always_inline]] inline RowStatistics row_statistics(const T* x,
                                                           const SeedNormParameters<T>& parameters,
                                                           std::int64_t width) {
  const auto* const beta = parameters.beta;
  const double squares = squares_of_row(x, width);
  const double along =
      sum_over(width, [x, beta](std::int64_t i) { return load(x + i) * load(beta + i); });
  return {inverse_root(squares / static_cast<double>(width) + parameters.epsilon),
          tanh_with_slope(along)};
}

}  // namespace

template <typename T>
EK_CLONES void seed_norm_row(const T* __restrict x, const SeedNormParameters<T>& parameters,
                             T* __restrict y, std::int64_t width) {
  const auto statistics = row_statistics(x, parameters, width);
  const double rho = statistics.rho, t = statistics.t.value;
  const OpMathType<T>* __restrict const alpha = parameters.alpha;
  const OpMathType<T>* __restrict const gain = parameters.gain;
  const OpMathType<T>* __restrict const bias = parameters.bias;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, (load(alpha + i) * t + load(gain + i)) * (load(x + i) * rho) + load(bias + i));
  }
}

template <typename T>
EK_CLONES void seed_norm_row_backward(const SeedNormGradient<T>& row,
                                      const SeedNormParameters<T>& parameters, std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const OpMathType<T>* __restrict const alpha = parameters.alpha;
  const OpMathType<T>* __restrict const beta = parameters.beta;
  const OpMathType<T>* __restrict const gain = parameters.gain;
  const auto statistics = row_statistics(x, parameters, width);
  const double rho = statistics.rho, t = statistics.t.value;
  const double alpha_sum = sum_over(
      width, [=](std::int64_t i) { return load(dy + i) * load(alpha + i) * (load(x + i) * rho); });
  const double gain_sum = sum_over(
      width, [=](std::int64_t i) { return load(dy + i) * load(gain + i) * (load(x + i) * rho); });
  const double s = statistics.t.slope * alpha_sum;
  const double mean = (t * alpha_sum + gain_sum) / static_cast<double>(width);
  T* __restrict const dx = row.dx;
  double* __restrict const dalpha = row.dalpha;
  double* __restrict const dbeta = row.dbeta;
  double* __restrict const dgain = row.dgain;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i), x_hat = load(x + i) * rho;
    const double u = upstream * (load(alpha + i) * t + load(gain + i));
    store(dx + i, rho * (u - x_hat * mean) + s * load(beta + i));
    dgain[i] += upstream * x_hat;
    dalpha[i] += t * (upstream * x_hat);
    dbeta[i] += s * load(x + i);
  }
  if (double* __restrict const dbias = row.dbias) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dbias[i] += load(dy + i);
  }
}

#define EK_INSTANTIATE(T)                                                                        \
  template void seed_norm_row(const T*, const SeedNormParameters<T>&, T*, std::int64_t);         \
  template void seed_norm_row_backward(const SeedNormGradient<T>&, const SeedNormParameters<T>&, \
                                       std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
