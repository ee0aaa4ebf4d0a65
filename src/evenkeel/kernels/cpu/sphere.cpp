// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/sphere.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "evenkeel/kernels/cpu/row_reduction.h"

namespace evenkeel::kernels::cpu {

namespace {

/// 1 / max(length, 1e-12), and whether it moves with the row.
struct Inverse {
  double value;
  bool moves;
};
Inverse inverse_of(double square) {
  constexpr double kTiny = 1e-12;
  const double length = std::sqrt(square);
  return {1 / std::max(length, kTiny), length > kTiny};
}

template <typename T>
[[gnu::always_inline]] inline double square_of(const T* x, std::int64_t width) {
  return sum_over(width, [x](std::int64_t i) { return load(x + i) * load(x + i); });
}

constexpr double kMostAngle = std::numbers::pi / 4;

/// What the values of a row have in common: t = g - along x.
struct Arc {
  double square, along, length, speed;
  double slope;          // min(speed / length, kMostAngle)
  double turned, angle;  // before it was cut, and after
  double over() const { return speed > 0 ? speed : 1; }
};

template <typename T>
[[gnu::always_inline]] inline Arc arc_of(const T* x, const T* g, const Turn& turn,
                                         std::int64_t width) {
  Arc arc = {};
  arc.square = square_of(x, width);
  if (arc.square == 0) return arc;
  arc.along =
      sum_over(width, [x, g](std::int64_t i) { return load(x + i) * load(g + i); }) / arc.square;
  const double along = arc.along;
  arc.length = std::sqrt(arc.square);
  arc.speed = std::sqrt(sum_over(width, [x, g, along](std::int64_t i) {
    const double t = load(g + i) - along * load(x + i);
    return t * t;
  }));
  arc.slope = std::min(arc.speed / arc.length, kMostAngle);
  arc.turned = (turn.scale * arc.slope + turn.bias) * turn.decay;
  arc.angle = std::min(arc.turned, kMostAngle);
  return arc;
}

}  // namespace

template <typename T>
EK_CLONES void sphere_row(const T* __restrict start, const T* __restrict towards,
                          const double* __restrict step, T* __restrict y, std::int64_t width) {
  const double a = inverse_of(square_of(start, width)).value;
  const double b = inverse_of(square_of(towards, width)).value;
  const auto z = [=](std::int64_t i) {
    const double u = load(start + i) * a;
    return u + step[i] * (load(towards + i) * b - u);
  };
  const double c = inverse_of(sum_over(width, [z](std::int64_t i) { return z(i) * z(i); })).value;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) store(y + i, z(i) * c);
}

template <typename T>
EK_CLONES void sphere_row_backward(const SphereGradient<T>& row, std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const start = row.start;
  const T* __restrict const towards = row.towards;
  const double* __restrict const step = row.step;
  const auto [a, a_moves] = inverse_of(square_of(start, width));
  const auto [b, b_moves] = inverse_of(square_of(towards, width));
  const auto u = [start, a = a](std::int64_t i) { return load(start + i) * a; };
  const auto v = [towards, b = b](std::int64_t i) { return load(towards + i) * b; };
  const auto z = [=](std::int64_t i) { return u(i) + step[i] * (v(i) - u(i)); };
  const auto [c, c_moves] =
      inverse_of(sum_over(width, [z](std::int64_t i) { return z(i) * z(i); }));
  const double rate = c;
  const double along_y =
      c_moves ? rate * rate * sum_over(width, [=](std::int64_t i) { return z(i) * load(dy + i); })
              : 0;
  const auto dz = [=](std::int64_t i) { return rate * (load(dy + i) - z(i) * along_y); };
  const double along_u =
      a_moves ? sum_over(width, [=](std::int64_t i) { return u(i) * (1 - step[i]) * dz(i); }) : 0;
  const double along_v =
      b_moves ? sum_over(width, [=](std::int64_t i) { return v(i) * step[i] * dz(i); }) : 0;
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
EK_CLONES void geodesic_row(const T* __restrict x, const T* __restrict g, const Turn& turn,
                            T* __restrict y, std::int64_t width) {
  const auto arc = arc_of(x, g, turn, width);
  const bool is_zero = arc.square == 0;
  const double stay = is_zero ? 1 : std::cos(arc.angle), along = arc.along;
  const double go = is_zero ? 1 : arc.length * std::sin(arc.angle) / arc.over();
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    store(y + i, stay * load(x + i) + go * (load(g + i) - along * load(x + i)));
  }
}

template <typename T>
EK_CLONES void geodesic_row_backward(const GeodesicGradient<T>& row, const Turn& turn,
                                     std::int64_t width) {
  const T* __restrict const dy = row.dy;
  const T* __restrict const x = row.x;
  const T* __restrict const g = row.g;
  T* __restrict const dx = row.dx;
  T* __restrict const dg = row.dg;
  const auto arc = arc_of(x, g, turn, width);
  if (arc.square == 0) {
    std::copy(dy, dy + width, dx);
    std::copy(dy, dy + width, dg);
    return;
  }
  const double along = arc.along;
  const double dy_x = sum_over(width, [=](std::int64_t i) { return load(dy + i) * load(x + i); });
  const double dy_t = sum_over(
      width, [=](std::int64_t i) { return load(dy + i) * (load(g + i) - along * load(x + i)); });
  const double cosine = std::cos(arc.angle), sine = std::sin(arc.angle);
  const double forward = dy_t / arc.over();  // dy along the direction of t
  const bool is_cut = arc.turned > kMostAngle;
  const double dturned = is_cut ? 0 : (cosine * arc.length * forward - sine * dy_x) * turn.decay;
  *row.dscale += dturned * arc.slope;
  *row.dbias += dturned;
  const bool is_steep = arc.speed / arc.length > kMostAngle;
  const double dslope = is_steep ? 0 : dturned * turn.scale;
  const double dlength = sine * forward - dslope * arc.speed / arc.square;
  // dt = by_dy dy + by_t t; t is orthogonal to x.
  const double by_dy = arc.length * sine / arc.over();
  const double dspeed = dslope / arc.length - by_dy * forward;
  const double by_t = arc.speed > 0 ? dspeed / arc.speed : 0;
  const double dalong = -by_dy * dy_x;
  const double by_x = dlength / arc.length - 2 * along * dalong / arc.square;
  const double turning = dalong / arc.square;
#pragma omp simd
  for (std::int64_t i = 0; i < width; ++i) {
    const double from = load(x + i), to = load(g + i), upstream = load(dy + i);
    const double dt = by_dy * upstream + by_t * (to - along * from);
    store(dg + i, dt + turning * from);
    store(dx + i, cosine * upstream + by_x * from + turning * to - along * dt);
  }
}

#define EK_INSTANTIATE(T)                                                        \
  template void sphere_row(const T*, const T*, const double*, T*, std::int64_t); \
  template void sphere_row_backward(const SphereGradient<T>&, std::int64_t);     \
  template void geodesic_row(const T*, const T*, const Turn&, T*, std::int64_t); \
  template void geodesic_row_backward(const GeodesicGradient<T>&, const Turn&, std::int64_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(Bf16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cpu
