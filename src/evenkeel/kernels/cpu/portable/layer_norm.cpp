// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/layer_norm.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/layer_norm_avx512.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/portable/norm_backward_float32.h"

namespace evenkeel::kernels::cpu {

namespace {

/// y = gain * (scale * x - mean) * rstd + bias in double.
/// \param moments  those of scale * x
template <typename T>
[[gnu::always_inline]] inline void centred_row(const T* __restrict x, double scale,
                                               const RowMoments& moments,
                                               const OpMathType<T>* __restrict gain,
                                               const OpMathType<T>* __restrict bias,
                                               T* __restrict y, std::int64_t width) {
  const auto [mean, rstd] = moments;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, (load(x + i) * scale - mean) * rstd * load(gain + i) + load(bias + i));
  }
}

/// The same in float32.
template <typename T>
[[gnu::always_inline]] inline void centred_row_in_float(const T* __restrict x, const CentredRow row,
                                                        const float* __restrict gain,
                                                        const float* __restrict bias,
                                                        T* __restrict y, std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    auto x_hat = static_cast<float>(load(x + i));
    normalize(row, x_hat);
    store(y + i, x_hat * gain[i] + bias[i]);
  }
}

/// The moments of scale * x in two passes.
template <typename T>
[[gnu::always_inline]] inline RowMoments two_pass_moments(const T* __restrict x, double scale,
                                                          std::int64_t width, double epsilon) {
  const auto features = static_cast<double>(width);
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
  return {.mean = mean, .rstd = inverse_root(squares / features + epsilon * scale * scale)};
}

/// The moments of a row of float or Bf16: in one pass, as mean(x^2) - mean(x)^2, if that cancels at
/// most 16 of the 53 bits of a double, else in two.
template <typename T>
[[gnu::always_inline]] inline RowMoments moments_of(const T* __restrict x, std::int64_t width,
                                                    double epsilon) {
  constexpr double kMostLost = 0x1p-16;
  Vec16<double> sums, squares;
  for_each_vec16</*kPrefetch=*/true>(x, width, [&](const Vec16<double>& v) {
#pragma GCC unroll 8
    for (int k = 0; k < v.kCount; ++k) {
      sums.part[k] += v.part[k];
      squares.part[k] += v.part[k] * v.part[k];
    }
  });
  const auto features = static_cast<double>(width);
  const double mean = horizontal_sum(sums) / features;
  const double mean_square = horizontal_sum(squares) / features;
  const double variance = mean_square - mean * mean;
  if (variance > kMostLost * mean_square) {
    return {.mean = mean, .rstd = inverse_root(variance + epsilon)};
  }
  return two_pass_moments(x, 1.0, width, epsilon);
}

/// The statistics of a row in the backward pass.
struct RowOf {
  double mean, rstd, mean_g, slope;  // slope: mean(g * x_hat)
};
template <typename T>
[[gnu::always_inline]] inline RowOf row_of(const LayerNormGradient<T>& args, std::int64_t row,
                                           std::int64_t width) {
  const double mean = args.mean[row], rstd = args.rstd[row];
  const auto g = [dy = args.dy + row * width, gain = args.gain](std::int64_t i) {
    return load(dy + i) * load(gain + i);
  };
  const auto x_hat = [x = args.x + row * width, mean, rstd](std::int64_t i) {
    return (load(x + i) - mean) * rstd;
  };
  const double sum = sum_over(width, g);
  const double dot = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); });
  const auto features = static_cast<double>(width);
  return {mean, rstd, sum / features, dot / features};
}

/// One row in double.
template <typename T>
[[gnu::always_inline]] inline void backward(const LayerNormGradient<T>& args, std::int64_t row,
                                            std::int64_t width) {
  const T* __restrict const dy = args.dy + row * width;
  const T* __restrict const x = args.x + row * width;
  const OpMathType<T>* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + row * width;
  double* __restrict const dgain = args.dgain;
  double* __restrict const dbias = args.dbias;
  const auto [mean, rstd, mean_g, slope] = row_of(args, row, width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i);
    const double x_hat = (load(x + i) - mean) * rstd;
    dgain[i] += upstream * x_hat;
    dbias[i] += upstream;
    store(dx + i, rstd * (upstream * load(gain + i) - mean_g - x_hat * slope));
  }
}

/// kRows rows from `first` on in float32, in one pass over the gradients of gain and bias; false
/// where one of them must be in double.
template <int kRows, typename T>
[[gnu::always_inline]] inline bool backward_in_float(const LayerNormGradient<T>& args,
                                                     std::int64_t first, std::int64_t width) {
  CentredRow row_params[kRows];
  GradientMeans means[kRows];
  for (int r = 0; r < kRows; ++r)
    row_params[r] = centred_by(args.mean[first + r], args.rstd[first + r]);
  if (!means_of_rows(args, first, width, row_params, means)) return false;
  const T* __restrict const dy = args.dy + first * width;
  const T* __restrict const x = args.x + first * width;
  const float* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + first * width;
  double* __restrict const dgain = args.dgain;
  double* __restrict const dbias = args.dbias;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    float gains = 0, biases = 0;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const auto offset = r * width + i;
      const auto upstream = static_cast<float>(load(dy + offset));
      auto x_hat = static_cast<float>(load(x + offset));
      normalize(row_params[r], x_hat);
      gains += upstream * x_hat;
      biases += upstream;
      store(dx + offset,
            row_params[r].rstd * (upstream * gain[i] - means[r].g - x_hat * means[r].slope));
    }
    dgain[i] += static_cast<double>(gains);
    dbias[i] += static_cast<double>(biases);
  }
  return true;
}

}  // namespace

template <typename T>
EK_CLONES RowMoments layer_norm_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                                    const OpMathType<T>* __restrict bias, T* __restrict y,
                                    std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (const auto moments = layer_norm_row_avx512(x, gain, bias, y, width, epsilon)) {
      return *moments;
    }
  }
  if constexpr (std::is_same_v<T, double>) {
    const double scale = row_scale(x, width, epsilon);
    const auto moments = two_pass_moments(x, scale, width, epsilon);
    centred_row(x, scale, moments, gain, bias, y, width);
    return {.mean = moments.mean / scale, .rstd = moments.rstd * scale};
  } else {
    const auto moments = moments_of(x, width, epsilon);
    if (fits_float32(moments.rstd)) {
      const auto row = centred_by(moments.mean, moments.rstd);
      centred_row_in_float(x, row, gain, bias, y, width);
    } else {
      centred_row(x, 1.0, moments, gain, bias, y, width);
    }
    return moments;
  }
}

template <typename T>
EK_CLONES void layer_norm_backward(const LayerNormGradient<T>& args, std::int64_t rows,
                                   std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (std::is_same_v<T, Bf16>) {
      row += layer_norm_backward_avx512(args, row, rows, width);
    } else if constexpr (std::is_same_v<T, float>) {
      constexpr int kAtOnce = 2;
      while (row + kAtOnce <= rows && backward_in_float<kAtOnce>(args, row, width)) row += kAtOnce;
    }
    if (row == rows) return;
    if constexpr (!std::is_same_v<T, double>) {
      if (backward_in_float<1>(args, row, width)) continue;
    }
    backward(args, row, width);
  }
}

#define EK_INSTANTIATE(T)                                                                      \
  template RowMoments layer_norm_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                                     std::int64_t, double);                                    \
  template void layer_norm_backward(const LayerNormGradient<T>&, std::int64_t, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
