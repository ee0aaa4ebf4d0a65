// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/rms_norm.h"

#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/rms_norm_avx512.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/portable/norm_backward_float32.h"

namespace evenkeel::kernels::cpu {

namespace {

/// y = gain * (x * factor), in F.
template <typename F, typename T>
[[gnu::always_inline]] inline void scale_row(const T* __restrict x, F factor,
                                             const OpMathType<T>* __restrict gain, T* __restrict y,
                                             std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, static_cast<F>(load(x + i)) * factor * static_cast<F>(load(gain + i)));
  }
}

}  // namespace

template <typename T>
EK_CLONES double rms_norm_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                              T* __restrict y, std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (const auto rstd = rms_norm_row_avx512(x, gain, y, width, epsilon)) return *rstd;
  }
  const double scale = row_scale(x, width, epsilon);
  const double squares = squares_of_row(x, width, scale);
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon * scale * scale);
  if constexpr (std::is_same_v<T, double>) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * scale * rstd * gain[i];
  } else if (fits_float32(rstd)) {
    scale_row(x, static_cast<float>(rstd), gain, y, width);
  } else {
    scale_row(x, rstd, gain, y, width);
  }
  return rstd * scale;
}

template <typename T>
EK_CLONES double add_rms_norm_row(const T* __restrict residual, const T* __restrict branch,
                                  const OpMathType<T>* __restrict gain, T* __restrict sum,
                                  T* __restrict y, std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (add_row_avx512(residual, branch, sum, width)) {
      return rms_norm_row(sum, gain, y, width, epsilon);
    }
  }
  using F = OpMathType<T>;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(sum + i, static_cast<F>(load(residual + i)) + static_cast<F>(load(branch + i)));
  }
  return rms_norm_row(sum, gain, y, width, epsilon);
}

namespace {

/// One row, in double.
/// \param skip_gradient  index -> gradient of x from the residual connection
template <typename T, typename SkipGradient>
[[gnu::always_inline]] inline void backward(const RmsNormGradient<T>& args, std::int64_t row,
                                            std::int64_t width, const SkipGradient& skip_gradient) {
  const T* __restrict const dy = args.dy + row * width;
  const T* __restrict const x = args.x + row * width;
  const OpMathType<T>* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + row * width;
  double* __restrict const dgain = args.dgain;
  const double rstd = args.rstd[row];
  const double dot = sum_over(
      width, [=](std::int64_t i) { return load(dy + i) * load(gain + i) * (load(x + i) * rstd); });
  const double mean = dot / static_cast<double>(width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i);
    const double g = upstream * load(gain + i);
    const double x_hat = load(x + i) * rstd;
    const double total = skip_gradient(row * width + i) + rstd * (g - x_hat * mean);
    dgain[i] += upstream * x_hat;
    store(dx + i, total);
  }
}

/// kRows rows from `first` on in float32, in one pass over the gradient of the gain; false where
/// one of them must be in double.
template <int kRows, typename T, typename SkipGradient>
[[gnu::always_inline]] inline bool backward_in_float(const RmsNormGradient<T>& args,
                                                     std::int64_t first, std::int64_t width,
                                                     const SkipGradient& skip_gradient) {
  ScaledRow row_params[kRows];
  GradientMeans means[kRows];
  for (int r = 0; r < kRows; ++r) row_params[r] = scaled_by(args.rstd[first + r]);
  if (!means_of_rows(args, first, width, row_params, means)) return false;
  const T* __restrict const dy = args.dy + first * width;
  const T* __restrict const x = args.x + first * width;
  const float* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + first * width;
  double* __restrict const dgain = args.dgain;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    float gains = 0;
#pragma GCC unroll 2
    for (int r = 0; r < kRows; ++r) {
      const auto offset = r * width + i;
      const auto upstream = static_cast<float>(load(dy + offset));
      auto x_hat = static_cast<float>(load(x + offset));
      normalize(row_params[r], x_hat);
      gains += upstream * x_hat;
      const float through = row_params[r].rstd * (upstream * gain[i] - x_hat * means[r].slope);
      store(dx + offset, static_cast<float>(skip_gradient(first * width + offset)) + through);
    }
    dgain[i] += static_cast<double>(gains);
  }
  return true;
}

template <typename T, typename SkipGradient>
[[gnu::always_inline]] inline void backward_of(const RmsNormGradient<T>& args, std::int64_t rows,
                                               std::int64_t width,
                                               const SkipGradient& skip_gradient) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (std::is_same_v<T, Bf16>) {
      row += rms_norm_backward_avx512(args, row, rows, width);
    } else if constexpr (std::is_same_v<T, float>) {
      constexpr int kAtOnce = 2;
      while (row + kAtOnce <= rows && backward_in_float<kAtOnce>(args, row, width, skip_gradient))
        row += kAtOnce;
    }
    if (row == rows) return;
    if constexpr (!std::is_same_v<T, double>) {
      if (backward_in_float<1>(args, row, width, skip_gradient)) continue;
    }
    backward(args, row, width, skip_gradient);
  }
}

}  // namespace

template <typename T>
EK_CLONES void rms_norm_backward(const RmsNormGradient<T>& args, std::int64_t rows,
                                 std::int64_t width) {
  if (args.skip == nullptr) {
    backward_of(args, rows, width, [](std::int64_t) { return 0.0; });
  } else {
    backward_of(args, rows, width, [skip = args.skip](std::int64_t i) { return load(skip + i); });
  }
}

#define EK_INSTANTIATE(T)                                                                          \
  template double rms_norm_row(const T*, const OpMathType<T>*, T*, std::int64_t, double);          \
  template double add_rms_norm_row(const T*, const T*, const OpMathType<T>*, T*, T*, std::int64_t, \
                                   double);                                                        \
  template void rms_norm_backward(const RmsNormGradient<T>&, std::int64_t, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
