// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/layer_norm.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/row.h"

namespace evenkeel::kernels::cpu {

namespace {

/// y = gain * (scale * x - mean) * factor + bias, all but the difference in F.
template <typename F, typename T>
[[gnu::always_inline]] inline void centred_row(const T* __restrict x, double scale, double mean,
                                               F factor, const Wide<T>* __restrict gain,
                                               const Wide<T>* __restrict bias, T* __restrict y,
                                               std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F deviation = static_cast<F>(load(x + i) * scale - mean);
    store(y + i,
          deviation * factor * static_cast<F>(load(gain + i)) + static_cast<F>(load(bias + i)));
  }
}

/// In F.
template <typename F, typename T>
[[gnu::always_inline]] inline void backward(const LayerNormGradient<T>& row, std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const Wide<T>* __restrict const gain = row.gain;
  T* __restrict const dx = row.dx;
  double* __restrict const dgain = row.dgain;
  double* __restrict const dbias = row.dbias;
  const double mean = row.moments.mean;
  const F rstd = static_cast<F>(row.moments.rstd);
  const auto at = [](const auto* from) { return static_cast<F>(load(from)); };

  const auto features = static_cast<double>(width);
  const auto g = [=](std::int64_t i) { return at(dy + i) * at(gain + i); };
  const auto x_hat = [=](std::int64_t i) { return static_cast<F>(load(x + i) - mean) * rstd; };
  const F mean_g = static_cast<F>(
      sum_over(width, [=](std::int64_t i) { return static_cast<double>(g(i)); }) / features);
  const F slope = static_cast<F>(
      sum_over(width, [=](std::int64_t i) { return static_cast<double>(g(i) * x_hat(i)); }) /
      features);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F upstream = at(dy + i);
    const F deviation = x_hat(i);
    const F gradient = rstd * (upstream * at(gain + i) - mean_g - deviation * slope);
    dgain[i] += static_cast<double>(upstream * deviation);
    dbias[i] += static_cast<double>(upstream);
    store(dx + i, gradient);
  }
}

}  // namespace

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
  if (!std::is_same_v<T, double> && is_moderate(rstd)) {
    centred_row(x, scale, mean, static_cast<float>(rstd), gain, bias, y, width);
  } else {
    centred_row(x, scale, mean, rstd, gain, bias, y, width);
  }
  return {.mean = mean / scale, .rstd = rstd * scale};
}

/// In float32 only beside bfloat16: what cancels in float32 rows would show.
template <typename T>
EK_CLONES void layer_norm_row_backward(const LayerNormGradient<T>& row, std::int64_t width) {
  const auto g = [dy = row.dy, gain = row.gain](std::int64_t i) {
    return static_cast<float>(load(dy + i)) * static_cast<float>(load(gain + i));
  };
  if (std::is_same_v<T, Bf16> && are_moderate<T>(row.moments.rstd, width, g)) {
    backward<float>(row, width);
  } else {
    backward<double>(row, width);
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
