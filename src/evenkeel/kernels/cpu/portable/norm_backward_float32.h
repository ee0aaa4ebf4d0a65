// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/common/vec16.h"

/// The backward pass of a row's norm in float32, which is twice as fast as in double, and the
/// condition for it. In dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)) with g = dy * gain, the
/// projections can cancel nearly all of g. Float32 is used if at least half of g's length is left
/// and no value leaves the range of float32. The error is then a few units in the last place of the
/// row's largest dx (docs/decisions/0013). Gradients of gains and biases (dy * x_hat and dy) have
/// no cancellation, so they need no condition. Callers are under EK_CLONES, hence always inlined.
namespace evenkeel::kernels::cpu {

/// A row's x_hat = x * rstd in float32.
struct ScaledRow {
  float rstd;
};
/// A row's x_hat = (x - mean) * rstd in float32.
struct CentredRow {
  float mean, rest;  // rest: rounding error of the mean
  float rstd;
};
inline ScaledRow scaled_by(double rstd) {
  return {static_cast<float>(rstd)};
}
inline CentredRow centred_by(double mean, double rstd) {
  const auto rounded = static_cast<float>(mean);
  return {.mean = rounded,
          .rest = static_cast<float>(mean - static_cast<double>(rounded)),
          .rstd = static_cast<float>(rstd)};
}

/// x becomes x_hat: a value, or a vector of them.
template <typename V>
[[gnu::always_inline]] inline void normalize(const ScaledRow& row, V& x) {
  x *= row.rstd;
}
template <typename V>
[[gnu::always_inline]] inline void normalize(const CentredRow& row, V& x) {
  x = (x - row.mean - row.rest) * row.rstd;
}

/// Sums over a row, in float32.
struct GradientSums {
  double g, slope, squares;  // of g, g * x_hat and g^2
};

/// The partial sums of gradient_sums().
struct Float32Sums {
  Vec16<float> g, slope, squares;

  template <typename Dy, typename X, typename Row>
  [[gnu::always_inline]] void add(const Dy* dy, const float* gain, const X* x, const Row& row) {
    Vec16<float> upstream, gains, value;
    load_vec16(upstream, dy);
    load_vec16(gains, gain);
    load_vec16(value, x);
#pragma GCC unroll 8
    for (int k = 0; k < g.kCount; ++k) {
      const auto through = upstream.part[k] * gains.part[k];
      normalize(row, value.part[k]);
      g.part[k] += through;
      slope.part[k] += through * value.part[k];
      squares.part[k] += through * through;
    }
  }
};

/// \tparam Dy, X   float or Bf16
/// \tparam Row     ScaledRow or CentredRow
/// \tparam kPrefetch  prefetches the next rows; not for heads, which are contiguous and have g on
///                    the stack
template <bool kPrefetch, typename Dy, typename X, typename Row>
[[gnu::always_inline]] inline GradientSums gradient_sums(const Dy* dy, const float* gain,
                                                         const X* x, const Row& row,
                                                         std::int64_t width) {
  constexpr std::int64_t kInFloat = 1024;  // terms: 64 a lane; more of them in double
  GradientSums sums = {};
  for (std::int64_t first = 0; first < width; first += kInFloat) {
    const auto end = std::min(first + kInFloat, width);
    Float32Sums these;
    auto i = first;
    for (; i + kLanes <= end; i += kLanes) {
      if constexpr (kPrefetch) {
        prefetch_ahead(dy + i);
        prefetch_ahead(x + i);
      }
      these.add(dy + i, gain + i, x + i, row);
    }
    if (i < end) {  // zeros after the last term
      Dy last_dy[kLanes] = {};
      float last_gain[kLanes] = {};
      X last_x[kLanes] = {};
      std::copy(dy + i, dy + end, last_dy);
      std::copy(gain + i, gain + end, last_gain);
      std::copy(x + i, x + end, last_x);
      these.add(last_dy, last_gain, last_x, row);
    }
    sums.g += static_cast<double>(horizontal_sum(these.g));
    sums.slope += static_cast<double>(horizontal_sum(these.slope));
    sums.squares += static_cast<double>(horizontal_sum(these.squares));
  }
  return sums;
}

/// width * |g - dx / rstd|^2: the squared length of what the projections remove from g.
[[gnu::always_inline]] inline double removed_squares(const ScaledRow& /*row*/,
                                                     const GradientSums& sums) {
  return sums.slope * sums.slope;
}
[[gnu::always_inline]] inline double removed_squares(const CentredRow& /*row*/,
                                                     const GradientSums& sums) {
  return sums.slope * sums.slope + sums.g * sums.g;
}

/// fits_float32(sqrt(square)), without the root.
[[gnu::always_inline]] inline bool root_fits_float32(double square) {
  constexpr double kMost = kFloat32SafeMagnitude * kFloat32SafeMagnitude;
  return square > 1 / kMost && square < kMost;
}

/// True if the backward pass of the row may use float32.
template <typename Row>
[[gnu::always_inline]] inline bool is_safe_in_float32(const Row& row, const GradientSums& sums,
                                                      double rstd, std::int64_t width) {
  const auto features = static_cast<double>(width);
  const double mean_square = sums.squares / features;  // of g
  // The slope is 0 if all products g * x_hat underflow, and then refused.
  const double slope_square = sums.slope * sums.slope;
  return fits_float32(rstd) && root_fits_float32(mean_square) &&
         root_fits_float32(mean_square * rstd * rstd) &&
         root_fits_float32(slope_square / mean_square) &&
         sums.squares - removed_squares(row, sums) / features >= sums.squares / 4;
}

/// A row's mean(g) and mean(g * x_hat) in float32.
struct GradientMeans {
  float g, slope;
};
/// \tparam kPrefetch, Dy, X, Row  as for gradient_sums()
/// \return false, with `means` unchanged, if the row must use double
template <bool kPrefetch, typename Dy, typename X, typename Row>
[[gnu::always_inline]] inline bool means_in_float(const Dy* dy, const float* gain, const X* x,
                                                  const Row& row, double rstd, std::int64_t width,
                                                  GradientMeans& means) {
  const auto sums = gradient_sums<kPrefetch>(dy, gain, x, row, width);
  if (!is_safe_in_float32(row, sums, rstd, width)) return false;
  const auto features = static_cast<double>(width);
  means = {static_cast<float>(sums.g / features), static_cast<float>(sums.slope / features)};
  return true;
}

/// means_in_float() of the kRows rows from `first` on.
/// \return false if one of them must use double
template <int kRows, typename Gradient, typename Row>
[[gnu::always_inline]] inline bool means_of_rows(const Gradient& args, std::int64_t first,
                                                 std::int64_t width, const Row (&row_params)[kRows],
                                                 GradientMeans (&means)[kRows]) {
  for (int r = 0; r < kRows; ++r) {
    const auto offset = (first + r) * width;
    if (!means_in_float<true>(args.dy + offset, args.gain, args.x + offset, row_params[r],
                              args.rstd[first + r], width, means[r])) {
      return false;
    }
  }
  return true;
}

}  // namespace evenkeel::kernels::cpu
