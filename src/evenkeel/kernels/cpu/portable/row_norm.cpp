// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/row_norm.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

/// x_hat = (x - first - mean) * rho: distances from the first value, so that those of equal values
/// are exactly 0.
struct Moments {
  double first, mean, rho, slope;
};

template <typename T>
[[gnu::always_inline]] inline double absmax_eighth(const T* x, std::int64_t width) {
  constexpr double kEighth = 0.125;
  const double largest =
      max_over(width, 0.0, [x](std::int64_t i) { return std::abs(load(x + i)); });
  return largest > 0 ? kEighth * largest : 1;
}

template <typename T>
[[gnu::always_inline]] inline Moments moments_of(const T* x, std::int64_t width,
                                                 const RowDenominator& denominator) {
  using Placement = RowDenominator::EpsilonAt;
  const double first = denominator.is_centred ? load(x) : 0;
  double mean = 0;
  if (denominator.is_centred) {
    mean = sum_over(width, [x, first](std::int64_t i) { return load(x + i) - first; }) /
           static_cast<double>(width);
  }
  const double squares = sum_over(denominator.partial_width, [x, first, mean](std::int64_t i) {
    const double deviation = load(x + i) - first - mean;
    return deviation * deviation;
  });
  const double count = denominator.is_length ? 1 : static_cast<double>(denominator.partial_width);
  const double s = squares / count, root = std::sqrt(s);
  // norm(x / c) with epsilon e equals norm(x) with epsilon e c, or e c^2 if e is inside the root.
  const double c = denominator.absmax8 ? absmax_eighth(x, width) : 1;
  const double e = denominator.epsilon * (denominator.epsilon_at == Placement::inside ? c * c : c);
  if (denominator.epsilon_at == Placement::inside) {
    const double rho = inverse_root(s + e);
    return {first, mean, rho, rho / count};
  }
  if (denominator.epsilon_at == Placement::outside) {
    return {first, mean, root + e == 0 ? 0 : 1 / (root + e), root == 0 ? 0 : 1 / (root * count)};
  }
  const double clamped = std::max(root, e);
  const double rho = clamped == 0 ? 0 : 1 / clamped;
  return {first, mean, rho, root > e ? rho / count : 0};
}

}  // namespace

template <typename T>
EK_CLONES void row_norm_row(const T* __restrict x, const OpMathType<T>* __restrict gain,
                            const OpMathType<T>* __restrict bias, T* __restrict y,
                            std::int64_t width, const RowDenominator& denominator) {
  const auto [first, mean, rho, slope] = moments_of(x, width, denominator);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, (load(x + i) - first - mean) * rho * load(gain + i) + load(bias + i));
  }
}

template <typename T>
EK_CLONES void row_norm_row_backward(const RowNormGradient<T>& row, std::int64_t width,
                                     const RowDenominator& denominator) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const OpMathType<T>* __restrict const gain = row.gain;
  T* __restrict const dx = row.dx;
  const auto moments = moments_of(x, width, denominator);
  const double origin = moments.first, mean = moments.mean, rho = moments.rho;
  const auto g = [dy, gain](std::int64_t i) { return load(dy + i) * load(gain + i); };
  const double dot =
      sum_over(width, [=](std::int64_t i) { return g(i) * ((load(x + i) - origin - mean) * rho); });
  const double mean_g =
      denominator.is_centred
          ? sum_over(width, [=](std::int64_t i) { return g(i); }) / static_cast<double>(width)
          : 0;
  const double projection = moments.slope * dot;
  const std::int64_t partial_width = denominator.partial_width;
#pragma omp simd
  for (std::int64_t i = 0; i < partial_width; ++i) {
    const double x_hat = (load(x + i) - origin - mean) * rho;
    store(dx + i, rho * (g(i) - mean_g) - x_hat * projection);
  }
#pragma omp simd
  for (std::int64_t i = partial_width; i < width; ++i) store(dx + i, rho * (g(i) - mean_g));
  if (double* __restrict const dgain = row.dgain) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      dgain[i] += load(dy + i) * ((load(x + i) - origin - mean) * rho);
    }
  }
  if (double* __restrict const dbias = row.dbias) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dbias[i] += load(dy + i);
  }
}

#define EK_INSTANTIATE(T)                                                              \
  template void row_norm_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                             std::int64_t, const RowDenominator&);                     \
  template void row_norm_row_backward(const RowNormGradient<T>&, std::int64_t,         \
                                      const RowDenominator&);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
