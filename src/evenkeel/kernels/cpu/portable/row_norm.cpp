// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/row_norm.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/row_norm_avx512.h"
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
[[gnu::always_inline]] inline Moments moments_of(const T* x, std::int64_t width,
                                                 const RowDenominator& denominator) {
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
  const double largest =
      denominator.absmax8
          ? max_over(width, 0.0, [x](std::int64_t i) { return std::abs(load(x + i)); })
          : 0;
  const auto [rho, slope] = row_scale_of(squares, largest, denominator);
  return {first, mean, rho, slope};
}

/// One row in double.
template <typename T>
[[gnu::always_inline]] inline void row_norm_in_double(const T* __restrict x,
                                                      const OpMathType<T>* __restrict gain,
                                                      const OpMathType<T>* __restrict bias,
                                                      T* __restrict y, std::int64_t width,
                                                      const RowDenominator& denominator) {
  const auto [first, mean, rho, slope] = moments_of(x, width, denominator);
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, (load(x + i) - first - mean) * rho * load(gain + i) + load(bias + i));
  }
}

/// Row `row` in double.
template <typename T>
[[gnu::always_inline]] inline void backward_in_double(const RowNormGradient<T>& args,
                                                      std::int64_t row,
                                                      const RowDenominator& denominator) {
  const T* __restrict const dy = args.dy + row * args.stride;
  const T* __restrict const x = args.x + row * args.stride;
  const OpMathType<T>* __restrict const gain = args.gain;
  T* __restrict const dx = args.dx + row * args.stride;
  const auto width = args.width;
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
  if (double* __restrict const dgain = args.dgain) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) {
      dgain[i] += load(dy + i) * ((load(x + i) - origin - mean) * rho);
    }
  }
  if (double* __restrict const dbias = args.dbias) {
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) dbias[i] += load(dy + i);
  }
}

}  // namespace

RowScale row_scale_of(double squares, double largest, const RowDenominator& denominator) {
  using Placement = RowDenominator::EpsilonAt;
  constexpr double kEighth = 0.125;
  const double count = denominator.is_length ? 1 : static_cast<double>(denominator.partial_width);
  const double s = squares / count, root = std::sqrt(s);
  // norm(x / c) with epsilon e equals norm(x) with epsilon e c, or e c^2 if e is inside the root.
  const double c = denominator.absmax8 && largest > 0 ? kEighth * largest : 1;
  const double e = denominator.epsilon * (denominator.epsilon_at == Placement::inside ? c * c : c);
  if (denominator.epsilon_at == Placement::inside) {
    const double rho = inverse_root(s + e);
    return {rho, rho / count};
  }
  if (denominator.epsilon_at == Placement::outside) {
    return {root + e == 0 ? 0 : 1 / (root + e), root == 0 ? 0 : 1 / (root * count)};
  }
  const double clamped = std::max(root, e);
  const double rho = clamped == 0 ? 0 : 1 / clamped;
  return {rho, root > e ? rho / count : 0};
}

template <typename T>
EK_CLONES void row_norm_row(const T* x, const OpMathType<T>* gain, const OpMathType<T>* bias, T* y,
                            std::int64_t width, const RowDenominator& denominator) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (row_norm_row_avx512(x, gain, bias, y, width, denominator)) return;
  }
  row_norm_in_double(x, gain, bias, y, width, denominator);
}

template <typename T>
EK_CLONES void row_norm_backward(const RowNormGradient<T>& args, std::int64_t rows,
                                 const RowDenominator& denominator) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if constexpr (std::is_same_v<T, Bf16>) {
      row += row_norm_backward_avx512(args, row, rows, denominator);
      if (row == rows) return;
    }
    backward_in_double(args, row, denominator);
  }
}

#define EK_INSTANTIATE(T)                                                              \
  template void row_norm_row(const T*, const OpMathType<T>*, const OpMathType<T>*, T*, \
                             std::int64_t, const RowDenominator&);                     \
  template void row_norm_backward(const RowNormGradient<T>&, std::int64_t, const RowDenominator&);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
