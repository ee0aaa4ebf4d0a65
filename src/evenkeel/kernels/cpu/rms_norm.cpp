// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/rms_norm.h"

#include "evenkeel/kernels/cpu/row.h"

namespace evenkeel::kernels::cpu {

template <typename T>
EK_CLONES double rms_norm_row(const T* __restrict x, const Wide<T>* __restrict gain,
                              T* __restrict y, std::int64_t width, double epsilon) {
  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };
  const double squares = sum_over(width, [=](std::int64_t i) { return scaled(i) * scaled(i); });
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon * scale * scale);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) store(y + i, scaled(i) * rstd * load(gain + i));
  return rstd * scale;
}

template <typename T>
EK_CLONES double add_rms_norm_row(const T* __restrict residual, const T* __restrict branch,
                                  const Wide<T>* __restrict gain, T* __restrict sum,
                                  T* __restrict y, std::int64_t width, double epsilon) {
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) store(sum + i, load(residual + i) + load(branch + i));
  return rms_norm_row(sum, gain, y, width, epsilon);
}

namespace {

/// \param beside  index -> the gradient that reaches x beside the norm
template <typename T, typename Beside>
[[gnu::always_inline]] inline void backward(const RmsNormGradient<T>& row, std::int64_t width,
                                            const Beside& beside) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const Wide<T>* __restrict const gain = row.gain;
  T* __restrict const dx = row.dx;
  double* __restrict const dgain = row.dgain;
  const double rstd = row.rstd;

  const double dot = sum_over(
      width, [=](std::int64_t i) { return load(dy + i) * load(gain + i) * (load(x + i) * rstd); });
  const double mean = dot / static_cast<double>(width);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double upstream = load(dy + i);
    const double g = upstream * load(gain + i);
    const double x_hat = load(x + i) * rstd;
    const double total = beside(i) + rstd * (g - x_hat * mean);
    dgain[i] += upstream * x_hat;
    store(dx + i, total);
  }
}

}  // namespace

template <typename T>
EK_CLONES void rms_norm_row_backward(const RmsNormGradient<T>& row, std::int64_t width) {
  if (row.skip == nullptr) {
    backward(row, width, [](std::int64_t) { return 0.0; });
  } else {
    backward(row, width, [skip = row.skip](std::int64_t i) { return load(skip + i); });
  }
}

#define EK_INSTANTIATE(T)                                                                    \
  template double rms_norm_row(const T*, const Wide<T>*, T*, std::int64_t, double);          \
  template double add_rms_norm_row(const T*, const T*, const Wide<T>*, T*, T*, std::int64_t, \
                                   double);                                                  \
  template void rms_norm_row_backward(const RmsNormGradient<T>&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
