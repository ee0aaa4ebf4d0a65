// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/layer_norm.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/layer_norm_lanes.h"
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

/// What a row of the backward pass has for all its values.
template <typename F>
struct RowOf {
  double mean;
  F rstd, mean_g, slope;  // slope: mean(g * x_hat)
};
template <typename F, typename T>
[[gnu::always_inline]] inline RowOf<F> row_of(const LayerNormGradient<T>& of, std::int64_t row,
                                              std::int64_t width) {
  const double mean = of.mean[row];
  const F rstd = static_cast<F>(of.rstd[row]);
  const auto g = [dy = of.dy + row * width, gain = of.gain](std::int64_t i) {
    return static_cast<F>(load(dy + i)) * static_cast<F>(load(gain + i));
  };
  const auto x_hat = [x = of.x + row * width, mean, rstd](std::int64_t i) {
    return static_cast<F>(load(x + i) - mean) * rstd;
  };
  const double sum = sum_over(width, [=](std::int64_t i) { return static_cast<double>(g(i)); });
  const double dot =
      sum_over(width, [=](std::int64_t i) { return static_cast<double>(g(i) * x_hat(i)); });
  const auto features = static_cast<double>(width);
  return {mean, rstd, static_cast<F>(sum / features), static_cast<F>(dot / features)};
}

/// kRows rows from `first` on, in F; the gradients of gain and bias are read and written once for
/// them.
template <int kRows, typename F, typename T>
[[gnu::always_inline]] inline void backward(const LayerNormGradient<T>& of, std::int64_t first,
                                            std::int64_t width) {
  const T* __restrict const dy = of.dy + first * width;
  const T* __restrict const x = of.x + first * width;
  const Wide<T>* __restrict const gain = of.gain;
  T* __restrict const dx = of.dx + first * width;
  double* __restrict const dgain = of.dgain;
  double* __restrict const dbias = of.dbias;
  RowOf<F> rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = row_of<F>(of, first + r, width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    double gains = dgain[i], biases = dbias[i];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const auto at = r * width + i;
      const auto& [mean, rstd, mean_g, slope] = rows[r];
      const F upstream = static_cast<F>(load(dy + at));
      const F x_hat = static_cast<F>(load(x + at) - mean) * rstd;
      gains += static_cast<double>(upstream * x_hat);
      biases += static_cast<double>(upstream);
      const F g = upstream * static_cast<F>(load(gain + i));
      store(dx + at, rstd * (g - mean_g - x_hat * slope));
    }
    dgain[i] = gains;
    dbias[i] = biases;
  }
}

/// One row, in float32 only beside bfloat16: what cancels in float32 rows would show.
template <typename T>
[[gnu::always_inline]] inline void backward_of(const LayerNormGradient<T>& of, std::int64_t row,
                                               std::int64_t width) {
  const auto g = [dy = of.dy + row * width, gain = of.gain](std::int64_t i) {
    return static_cast<float>(load(dy + i)) * static_cast<float>(load(gain + i));
  };
  if (std::is_same_v<T, Bf16> && are_moderate<T>(of.rstd[row], width, g)) {
    backward<1, float>(of, row, width);
  } else {
    backward<1, double>(of, row, width);
  }
}

}  // namespace

template <typename T>
EK_CLONES RowMoments layer_norm_row(const T* __restrict x, const Wide<T>* __restrict gain,
                                    const Wide<T>* __restrict bias, T* __restrict y,
                                    std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (const auto moments = layer_norm_row_in_lanes(x, gain, bias, y, width, epsilon)) {
      return *moments;
    }
  }
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

template <typename T>
EK_CLONES void layer_norm_backward(const LayerNormGradient<T>& of, std::int64_t rows,
                                   std::int64_t width) {
  std::int64_t row = 0;
  if constexpr (!std::is_same_v<T, Bf16>) {
    constexpr int kAtOnce = 4;
    for (; row + kAtOnce <= rows; row += kAtOnce) backward<kAtOnce, double>(of, row, width);
  }
  for (; row < rows; ++row) {
    if constexpr (std::is_same_v<T, Bf16>) {
      row += layer_norm_backward_in_lanes(of, row, rows, width);
      if (row == rows) return;
    }
    backward_of(of, row, width);
  }
}

#define EK_INSTANTIATE(T)                                                                        \
  template RowMoments layer_norm_row(const T*, const Wide<T>*, const Wide<T>*, T*, std::int64_t, \
                                     double);                                                    \
  template void layer_norm_backward(const LayerNormGradient<T>&, std::int64_t, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
