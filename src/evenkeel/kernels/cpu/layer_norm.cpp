// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/layer_norm.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/row.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES RowMoments layer_norm_row(const T* __restrict x, const Wide<T>* __restrict gain,
                                    const Wide<T>* __restrict bias, T* __restrict y,
                                    std::int64_t width, double epsilon) {
  const auto features = static_cast<double>(width);
  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };

  double mean = sum_over(width, scaled) / features;
  if constexpr (std::is_same_v<T, double>) {
    // The sum of equal doubles is not exact, as that of floats is: take up what was rounded off.
    mean += sum_over(width, [=](std::int64_t i) { return scaled(i) - mean; }) / features;
  }
  const double squares = sum_over(width, [=](std::int64_t i) {
    const double deviation = scaled(i) - mean;
    return deviation * deviation;
  });
  const double rstd = inverse_root(squares / features + epsilon * scale * scale);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, (scaled(i) - mean) * rstd * load(gain + i) + load(bias + i));
  }
  return {.mean = mean / scale, .rstd = rstd * scale};
}

template <typename T>
EK_CLONES void layer_norm_row_backward(const LayerNormGradient<T>& row, std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const Wide<T>* __restrict const gain = row.gain;
  T* __restrict const dx = row.dx;
  double* __restrict const dgain = row.dgain;
  double* __restrict const dbias = row.dbias;
  const auto [mean, rstd] = row.moments;

  const auto features = static_cast<double>(width);
  const auto g = [=](std::int64_t i) { return load(dy + i) * load(gain + i); };
  const auto x_hat = [=, mean = mean, rstd = rstd](std::int64_t i) {
    return (load(x + i) - mean) * rstd;
  };
  const double mean_g = sum_over(width, g) / features;
  const double slope = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); }) / features;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i);
    const double deviation = (load(x + i) - mean) * rstd;
    const double gradient = rstd * (upstream * load(gain + i) - mean_g - deviation * slope);
    dgain[i] += upstream * deviation;
    dbias[i] += upstream;
    store(dx + i, gradient);
  }
}

#define EK_INSTANTIATE(T)                                                                        \
  template RowMoments layer_norm_row(const T*, const Wide<T>*, const Wide<T>*, T*, std::int64_t, \
                                     double);                                                    \
  template void layer_norm_row_backward(const LayerNormGradient<T>&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
