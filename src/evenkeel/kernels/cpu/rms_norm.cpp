// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/rms_norm.h"

#include "evenkeel/kernels/cpu/rms_norm_lanes.h"
#include "evenkeel/kernels/cpu/row.h"

namespace evenkeel::kernels::cpu {

namespace {

/// y = gain * (x * factor), in F.
template <typename F, typename T>
[[gnu::always_inline]] inline void scale_row(const T* __restrict x, F factor,
                                             const Wide<T>* __restrict gain, T* __restrict y,
                                             std::int64_t width) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, static_cast<F>(load(x + i)) * factor * static_cast<F>(load(gain + i)));
  }
}

}  // namespace

template <typename T>
EK_CLONES double rms_norm_row(const T* __restrict x, const Wide<T>* __restrict gain,
                              T* __restrict y, std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (const auto rstd = rms_norm_row_in_lanes(x, gain, y, width, epsilon)) return *rstd;
  }
  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };
  const double squares = sum_over(width, [=](std::int64_t i) { return scaled(i) * scaled(i); });
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon * scale * scale);
  if constexpr (std::is_same_v<T, double>) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) store(y + i, scaled(i) * rstd * load(gain + i));
  } else if (is_moderate(rstd)) {
    scale_row(x, static_cast<float>(rstd), gain, y, width);
  } else {
    scale_row(x, rstd, gain, y, width);
  }
  return rstd * scale;
}

template <typename T>
EK_CLONES double add_rms_norm_row(const T* __restrict residual, const T* __restrict branch,
                                  const Wide<T>* __restrict gain, T* __restrict sum,
                                  T* __restrict y, std::int64_t width, double epsilon) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (add_row_in_lanes(residual, branch, sum, width)) {
      return rms_norm_row(sum, gain, y, width, epsilon);
    }
  }
  using F = Wide<T>;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(sum + i, static_cast<F>(load(residual + i)) + static_cast<F>(load(branch + i)));
  }
  return rms_norm_row(sum, gain, y, width, epsilon);
}

namespace {

/// One row, in F. \param beside  index -> the gradient that reaches x beside the norm
template <typename F, typename T, typename Beside>
[[gnu::always_inline]] inline void backward(const RmsNormGradient<T>& of, std::int64_t row,
                                            std::int64_t width, const Beside& beside) {
  const T* __restrict const dy = of.dy + row * width;
  const T* __restrict const x = of.x + row * width;
  const Wide<T>* __restrict const gain = of.gain;
  T* __restrict const dx = of.dx + row * width;
  double* __restrict const dgain = of.dgain;
  const F rstd = static_cast<F>(of.rstd[row]);
  const auto at = [](const auto* from) { return static_cast<F>(load(from)); };

  const F dot = sum_over<F>(
      width, [=](std::int64_t i) { return at(dy + i) * at(gain + i) * (at(x + i) * rstd); });
  const F mean = dot / static_cast<F>(width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const F upstream = at(dy + i);
    const F g = upstream * at(gain + i);
    const F x_hat = at(x + i) * rstd;
    const F total = static_cast<F>(beside(i)) + rstd * (g - x_hat * mean);
    dgain[i] += static_cast<double>(upstream * x_hat);
    store(dx + i, total);
  }
}

/// In float32 only beside bfloat16: what cancels in float32 rows would show.
template <typename T, typename Beside>
[[gnu::always_inline]] inline void backward_of(const RmsNormGradient<T>& of, std::int64_t row,
                                               std::int64_t width, const Beside& beside) {
  const auto g = [dy = of.dy + row * width, gain = of.gain](std::int64_t i) {
    return static_cast<float>(load(dy + i)) * static_cast<float>(load(gain + i));
  };
  if (std::is_same_v<T, Bf16> && are_moderate<T>(of.rstd[row], width, g)) {
    backward<float>(of, row, width, beside);
  } else {
    backward<double>(of, row, width, beside);
  }
}

}  // namespace

template <typename T>
EK_CLONES void rms_norm_backward(const RmsNormGradient<T>& of, std::int64_t rows,
                                 std::int64_t width) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (std::is_same_v<T, Bf16>) {
      row += rms_norm_backward_in_lanes(of, row, rows, width);
      if (row == rows) return;
    }
    if (of.skip == nullptr) {
      backward_of(of, row, width, [](std::int64_t) { return 0.0; });
    } else {
      const T* const skip = of.skip + row * width;
      backward_of(of, row, width, [skip](std::int64_t i) { return load(skip + i); });
    }
  }
}

#define EK_INSTANTIATE(T)                                                                    \
  template double rms_norm_row(const T*, const Wide<T>*, T*, std::int64_t, double);          \
  template double add_rms_norm_row(const T*, const T*, const Wide<T>*, T*, T*, std::int64_t, \
                                   double);                                                  \
  template void rms_norm_backward(const RmsNormGradient<T>&, std::int64_t, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
