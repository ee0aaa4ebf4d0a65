// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "evenkeel/kernels/cpu/row.h"
#include "evenkeel/kernels/cpu/vector.h"

/// The backward pass of a row's norm in float32, at twice the rate of double: what it is asked
/// before it may be. In dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)), g = dy * gain, nearly
/// all can cancel; where half of g's length is left, and nothing leaves the range of float32, some
/// units in the last place of g are some in that of the row's largest dx (docs/decisions/0013).
/// For functions under EK_CLONES, hence always inlined.
namespace evenkeel::kernels::cpu {

/// A row's x_hat = x * rstd in float32.
struct ScaledRow {
  float rstd;
};
/// A row's x_hat = (x - mean) * rstd in float32.
struct CentredRow {
  float mean, rest;  // rest: what was rounded off the mean
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
[[gnu::always_inline]] inline void norm_by(const ScaledRow& row, V& x) {
  x *= row.rstd;
}
template <typename V>
[[gnu::always_inline]] inline void norm_by(const CentredRow& row, V& x) {
  x = (x - row.mean - row.rest) * row.rstd;
}

/// Sums over a row, in float32.
struct GradientSums {
  double g, slope, squares;  // of g, g * x_hat and g^2
};

using Floats16 = VectorOf<float, 64>::Type;

/// The first `count` of 16 values from `from` on; zeros behind them.
[[gnu::always_inline]] inline void load_floats(Floats16& v, const float* from, std::int64_t count) {
  if (count >= kLanes) return load_vector(v, from);
  v = Floats16{};
  std::memcpy(&v, from, static_cast<std::size_t>(count) * sizeof *from);
}
[[gnu::always_inline]] inline void load_floats(Floats16& v, const Bf16* from, std::int64_t count) {
  VectorOf<std::uint16_t, 32>::Type bits = {};
  if (count >= kLanes) {
    load_vector(bits, from);
  } else {
    std::memcpy(&bits, from, static_cast<std::size_t>(count) * sizeof *from);
  }
  using Words = VectorOf<std::uint32_t, 64>::Type;
  const Words words = __builtin_convertvector(bits, Words) << 16;
  std::memcpy(&v, &words, sizeof v);
}

/// \tparam Dy, X  float or Bf16
/// \tparam Row    ScaledRow or CentredRow
/// \tparam kAhead asks for rows behind this one; heads are found by the processor itself
template <bool kAhead, typename Dy, typename X, typename Row>
[[gnu::always_inline]] inline GradientSums gradient_sums(const Dy* dy, const float* gain,
                                                         const X* x, const Row& row,
                                                         std::int64_t width) {
  Floats16 sum = {}, slope = {}, squares = {};
  for (std::int64_t i = 0; i < width; i += kLanes) {
    if constexpr (kAhead) {
      ask_ahead(dy + i);
      ask_ahead(x + i);
    }
    Floats16 upstream, gains, value;
    load_floats(upstream, dy + i, width - i);
    load_floats(gains, gain + i, width - i);
    load_floats(value, x + i, width - i);
    const Floats16 g = upstream * gains;
    norm_by(row, value);
    sum += g;
    slope += g * value;
    squares += g * g;
  }
  const auto total = [](const Floats16& lanes) {
    return static_cast<double>(sum_of_lanes<float>(lanes));
  };
  return {.g = total(sum), .slope = total(slope), .squares = total(squares)};
}

/// Whether a row may be in float32. A slope next to 0 tells of an x_hat below the normal numbers:
/// by chance it is 0 only where double may have it, too.
/// \param taken  what is taken off g, squared and summed, times width
inline bool is_safe_in_float(const GradientSums& sums, double rstd, std::int64_t width,
                             double taken) {
  const auto features = static_cast<double>(width);
  return is_moderate(rstd) && is_moderate(std::abs(sums.slope)) &&
         is_moderate(sums.squares / features * rstd * rstd) &&
         sums.squares - taken / features >= sums.squares / 4;
}
inline bool is_safe_in_float(const ScaledRow& /*row*/, const GradientSums& sums, double rstd,
                             std::int64_t width) {
  return is_safe_in_float(sums, rstd, width, sums.slope * sums.slope);
}
inline bool is_safe_in_float(const CentredRow& /*row*/, const GradientSums& sums, double rstd,
                             std::int64_t width) {
  return is_safe_in_float(sums, rstd, width, sums.slope * sums.slope + sums.g * sums.g);
}

}  // namespace evenkeel::kernels::cpu
