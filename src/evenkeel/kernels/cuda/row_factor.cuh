// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

/// Statistics of rows on tiles: sums of squares that neither overflow nor vanish in float, and the
/// root of their mean.
namespace evenkeel::kernels::cuda {

/// rstd as scale * r, a power of two and a float. scale is 1 for ordinary rows; otherwise r is in
/// [1, 2), so that products of r with a gradient, and of scale with the row, stay in range.
struct RowFactor {
  float scale, r;

  __device__ static RowFactor of(double rstd) {
    if ((rstd >= 0x1p-16 && rstd <= 0x1p16) || rstd == 0 || !isfinite(rstd)) {
      return {1, static_cast<float>(rstd)};
    }
    const int exponent = min(max(ilogb(rstd), -126), 126);
    return {ldexpf(1, exponent), static_cast<float>(ldexp(rstd, -exponent))};
  }
};

/// 1 / sqrt(mean_square), 0 for 0. In the range of float a step of Newton's method, in double,
/// follows the root in float: 40 exact bits.
__device__ inline double tile_rstd(double mean_square) {
  if (!(mean_square > 0x1p-100 && mean_square < 0x1p31)) return inverse_root(mean_square);
  const auto root = static_cast<double>(rsqrtf(static_cast<float>(mean_square)));
  return fma(0.5 * root, fma(-mean_square * root, root, 1.0), root);
}

/// Sums of squares below this need another scale. An epsilon above 2^-60 outweighs them.
__device__ inline float smallest_square_sum(double epsilon) {
  return epsilon > 0x1p-60 ? 0 : 0x1p-100F;
}

/// The sum of sum_of(scale)^2 / scale^2 over the values of a thread; scale is a power of two.
/// \param sum_of  the sum of squares of the values times a scale, in float
template <typename SumOf>
__device__ double scaled_squares(float least, const SumOf& sum_of) {
  const float squares = sum_of(1.0F);
  if (squares >= least && squares < 0x1p120F) return static_cast<double>(squares);
  if (squares < 1) return static_cast<double>(sum_of(0x1p90F)) * 0x1p-180;
  return static_cast<double>(sum_of(0x1p-80F)) * 0x1p160;
}

/// The sum of the values of a thread, from its first value: n times that is exact in double.
template <typename T, int kPacks>
__device__ double row_sum(const Tile<T, kPacks>& x, int held) {
  const float first = x.at(0, 0);
  float sum = 0;
  for_each_held_value<T, kPacks>(held, [&](int p, int i) { sum += x.at(p, i) - first; });
  const double apart = static_cast<double>(sum);
  if (isfinite(sum))
    return fma(static_cast<double>(held * kPack<T>), static_cast<double>(first), apart);
  double all = 0;
  for_each_held_value<T, kPacks>(held,
                                 [&](int p, int i) { all += static_cast<double>(x.at(p, i)); });
  return all;
}

/// The sums of x - mean and of its squares, over the values of a thread.
/// \param mean   of the row, rounded
/// \param least  smallest_square_sum()
template <typename T, int kPacks>
__device__ void row_deviations(const Tile<T, kPacks>& x, float mean, int held, float least,
                               double (&moments)[2]) {
  const auto sums = [&](float before, float after) {
    float sum = 0, squares = 0;
    for_each_held_value<T, kPacks>(held, [&](int p, int i) {
      const float deviation = fmaf(x.at(p, i), before, -mean * before) * after;
      sum += deviation;
      squares = fmaf(deviation, deviation, squares);
    });
    moments[0] = static_cast<double>(sum);
    moments[1] = static_cast<double>(squares);
    return squares;
  };
  const float squares = sums(1, 1);
  if (squares >= least && squares < 0x1p120F) return;
  const bool is_small = squares < 1;
  sums(is_small ? 1 : 0x1p-80F, is_small ? 0x1p90F : 1);
  moments[0] *= is_small ? 0x1p-90 : 0x1p80;
  moments[1] *= is_small ? 0x1p-180 : 0x1p160;
}

/// The statistics of a row, for x_hat = centred(x) * r.
struct CentredRow {
  double mean, rstd;
  float high, low;  // mean * scale is their sum
  float scale, r;   // rstd = scale * r

  __device__ static CentredRow of(double mean, double rstd, RowFactor factor) {
    const double scaled = mean * static_cast<double>(factor.scale);
    const auto high = static_cast<float>(scaled);
    const float low = isfinite(high) ? static_cast<float>(scaled - static_cast<double>(high)) : 0;
    return {mean, rstd, high, low, factor.scale, factor.r};
  }
  __device__ static CentredRow of(double mean, double rstd) {
    return of(mean, rstd, RowFactor::of(rstd));
  }
  /// \param near        a rounded mean
  /// \param deviation   the mean of x - near; squares: of its squares
  __device__ static CentredRow of(float near, double deviation, double squares, double epsilon) {
    const double difference = squares - deviation * deviation;
    const double variance = difference < 0 ? 0 : difference;
    const double rstd = tile_rstd(variance + epsilon);
    RowFactor factor = {1, static_cast<float>(rstd)};
    if (variance > 0x1p100) factor = {0x1p-80F, static_cast<float>(rstd * 0x1p80)};
    if (variance > 0 && variance < 0x1p-100) factor = {0x1p90F, static_cast<float>(rstd * 0x1p-90)};
    return of(static_cast<double>(near) + deviation, rstd, factor);
  }
  /// (x - mean) * scale. Where x is near the mean, the first difference is exact.
  __device__ float centred(float x) const { return fmaf(x, scale, -high) - low; }
};

}  // namespace evenkeel::kernels::cuda
