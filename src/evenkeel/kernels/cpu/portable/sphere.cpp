// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/portable/sphere.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "evenkeel/kernels/cpu/avx512/sphere_avx512.h"
#include "evenkeel/kernels/cpu/common/row_common.h"
#include "evenkeel/kernels/cpu/common/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

/// 1 / max(length, 1e-12), and whether it depends on the row.
struct InverseNorm {
  double value;
  bool has_gradient;
};
InverseNorm inverse_norm(double square) {
  constexpr double kTiny = 1e-12;
  const double length = std::sqrt(square);
  return {1 / std::max(length, kTiny), length > kTiny};
}

constexpr double kMaxAngle = std::numbers::pi / 4;

/// The scalars of a row; t = g - projection x is the tangent.
struct Arc {
  double x_squared, projection, x_norm, tangent_norm;
  double slope;                   // min(tangent_norm / x_norm, kMaxAngle)
  double unclamped_angle, angle;  // before it is clamped, and after
  double safe_tangent_norm() const { return tangent_norm > 0 ? tangent_norm : 1; }
};

template <typename T>
[[gnu::always_inline]] inline Arc arc_of(const T* x, const T* g,
                                         const GeodesicParameters& parameters, std::int64_t width) {
  Arc arc = {};
  arc.x_squared = squares_of_row(x, width);
  if (arc.x_squared == 0) return arc;
  arc.projection =
      sum_over(width, [x, g](std::int64_t i) { return load(x + i) * load(g + i); }) / arc.x_squared;
  const double projection = arc.projection;
  arc.x_norm = std::sqrt(arc.x_squared);
  arc.tangent_norm = std::sqrt(sum_over(width, [x, g, projection](std::int64_t i) {
    const double t = load(g + i) - projection * load(x + i);
    return t * t;
  }));
  arc.slope = std::min(arc.tangent_norm / arc.x_norm, kMaxAngle);
  arc.unclamped_angle = (parameters.scale * arc.slope + parameters.bias) * parameters.decay;
  arc.angle = std::min(arc.unclamped_angle, kMaxAngle);
  return arc;
}

/// The factors of a row's gradients, with t = g - projection x, which is orthogonal to x:
///   dt = by_dy dy + by_t t
///   dg = dt + dprojection / |x|^2 x
///   dx = cos(angle) dy + by_x x + dprojection / |x|^2 g - projection dt
struct ArcSlope {
  double cosine, dangle;  // dangle: of the angle before it is clamped
  double by_dy, by_t, by_x;
  double dprojection_over_square;
};

/// \param dy_x, dy_t  dot products of dy with x and with t
[[gnu::always_inline]] inline ArcSlope arc_slope(const Arc& arc,
                                                 const GeodesicParameters& parameters, double dy_x,
                                                 double dy_t) {
  const double cosine = std::cos(arc.angle), sine = std::sin(arc.angle);
  const double forward = dy_t / arc.safe_tangent_norm();  // dy along the direction of t
  const bool is_angle_clamped = arc.unclamped_angle > kMaxAngle;
  const double dangle =
      is_angle_clamped ? 0 : (cosine * arc.x_norm * forward - sine * dy_x) * parameters.decay;
  const bool is_slope_clamped = arc.tangent_norm / arc.x_norm > kMaxAngle;
  const double dslope = is_slope_clamped ? 0 : dangle * parameters.scale;
  const double dx_norm = sine * forward - dslope * arc.tangent_norm / arc.x_squared;
  const double by_dy = arc.x_norm * sine / arc.safe_tangent_norm();
  const double dtangent_norm = dslope / arc.x_norm - by_dy * forward;
  const double dprojection = -by_dy * dy_x;
  return {.cosine = cosine,
          .dangle = dangle,
          .by_dy = by_dy,
          .by_t = arc.tangent_norm > 0 ? dtangent_norm / arc.tangent_norm : 0,
          .by_x = dx_norm / arc.x_norm - 2 * arc.projection * dprojection / arc.x_squared,
          .dprojection_over_square = dprojection / arc.x_squared};
}

}  // namespace

template <typename T>
EK_CLONES void sphere_step_row(const T* __restrict start, const T* __restrict towards,
                               const double* __restrict step, T* __restrict y, std::int64_t width) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (sphere_step_row_avx512(start, towards, step, y, width)) return;
  }
  const double a = inverse_norm(squares_of_row(start, width)).value;
  const double b = inverse_norm(squares_of_row(towards, width)).value;
  const auto z = [=](std::int64_t i) {
    const double u = load(start + i) * a;
    return u + step[i] * (load(towards + i) * b - u);
  };
  const double c = inverse_norm(sum_over(width, [z](std::int64_t i) { return z(i) * z(i); })).value;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) store(y + i, z(i) * c);
}

template <typename T>
EK_CLONES void sphere_step_row_backward(const SphereGradient<T>& row, std::int64_t width) {
  if constexpr (std::is_same_v<T, Bf16>) {
    if (sphere_step_row_backward_avx512(row, width)) return;
  }
  const T* __restrict const dy = row.dy;
  const T* __restrict const start = row.start;
  const T* __restrict const towards = row.towards;
  const double* __restrict const step = row.step;
  const auto [a, a_has_gradient] = inverse_norm(squares_of_row(start, width));
  const auto [b, b_has_gradient] = inverse_norm(squares_of_row(towards, width));
  const auto u = [start, a = a](std::int64_t i) { return load(start + i) * a; };
  const auto v = [towards, b = b](std::int64_t i) { return load(towards + i) * b; };
  const auto z = [=](std::int64_t i) { return u(i) + step[i] * (v(i) - u(i)); };
  const auto [c, c_has_gradient] =
      inverse_norm(sum_over(width, [z](std::int64_t i) { return z(i) * z(i); }));
  const double rate = c;
  const double along_y =
      c_has_gradient
          ? rate * rate * sum_over(width, [=](std::int64_t i) { return z(i) * load(dy + i); })
          : 0;
  const auto dz = [=](std::int64_t i) { return rate * (load(dy + i) - z(i) * along_y); };
  const double along_u =
      a_has_gradient ? sum_over(width, [=](std::int64_t i) { return u(i) * (1 - step[i]) * dz(i); })
                     : 0;
  const double along_v =
      b_has_gradient ? sum_over(width, [=](std::int64_t i) { return v(i) * step[i] * dz(i); }) : 0;
  const double to_u = a, to_v = b;
  T* __restrict const dstart = row.dstart;
  T* __restrict const dtowards = row.dtowards;
  double* __restrict const dstep = row.dstep;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double d = dz(i), s = step[i];
    store(dstart + i, to_u * ((1 - s) * d - u(i) * along_u));
    store(dtowards + i, to_v * (s * d - v(i) * along_v));
    dstep[i] += d * (v(i) - u(i));
  }
}

template <typename T>
EK_CLONES void geodesic_step_row(const T* __restrict x, const T* __restrict g,
                                 const GeodesicParameters& parameters, T* __restrict y,
                                 std::int64_t width) {
  const auto arc = arc_of(x, g, parameters, width);
  const bool is_zero = arc.x_squared == 0;
  const double x_factor = is_zero ? 1 : std::cos(arc.angle), projection = arc.projection;
  const double tangent_factor =
      is_zero ? 1 : arc.x_norm * std::sin(arc.angle) / arc.safe_tangent_norm();
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i,
          x_factor * load(x + i) + tangent_factor * (load(g + i) - projection * load(x + i)));
  }
}

template <typename T>
EK_CLONES void geodesic_step_row_backward(const GeodesicGradient<T>& row,
                                          const GeodesicParameters& parameters,
                                          std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const T* __restrict const g = row.g;
  T* __restrict const dx = row.dx;
  T* __restrict const dg = row.dg;
  const auto arc = arc_of(x, g, parameters, width);
  if (arc.x_squared == 0) {
    std::copy(dy, dy + width, dx);
    std::copy(dy, dy + width, dg);
    return;
  }
  const double projection = arc.projection;
  const double dy_x = sum_over(width, [=](std::int64_t i) { return load(dy + i) * load(x + i); });
  const double dy_t = sum_over(width, [=](std::int64_t i) {
    return load(dy + i) * (load(g + i) - projection * load(x + i));
  });
  const auto slope = arc_slope(arc, parameters, dy_x, dy_t);
  *row.dscale += slope.dangle * arc.slope;
  *row.dbias += slope.dangle;
  const double cosine = slope.cosine, by_dy = slope.by_dy, by_t = slope.by_t, by_x = slope.by_x;
  const double dprojection_over_square = slope.dprojection_over_square;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double from = load(x + i), to = load(g + i), upstream = load(dy + i);
    const double dt = by_dy * upstream + by_t * (to - projection * from);
    store(dg + i, dt + dprojection_over_square * from);
    store(dx + i, cosine * upstream + by_x * from + dprojection_over_square * to - projection * dt);
  }
}

#define EK_INSTANTIATE(T)                                                                         \
  template void sphere_step_row(const T*, const T*, const double*, T*, std::int64_t);             \
  template void sphere_step_row_backward(const SphereGradient<T>&, std::int64_t);                 \
  template void geodesic_step_row(const T*, const T*, const GeodesicParameters&, T*,              \
                                  std::int64_t);                                                  \
  template void geodesic_step_row_backward(const GeodesicGradient<T>&, const GeodesicParameters&, \
                                           std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
