// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cpu/avx512/sphere_avx512.h"

#include <algorithm>
#include <cmath>

#include "evenkeel/kernels/cpu/avx512/avx512_features.h"
#include "evenkeel/kernels/cpu/avx512/columns_avx512.h"

namespace evenkeel::kernels::cpu {

namespace {

/// u = unit(start), v = unit(towards) and z = u + step (v - u), sixteen values each.
struct Point {
  __m512 step, u, v, z;

  EK_AVX512_BF16_INLINE __m512 move() const { return _mm512_mul_ps(step, _mm512_sub_ps(v, u)); }
};

/// |z|^2 and |step (v - u)|^2 in partial sums.
struct PointSquares {
  __m512 z, move;

  EK_AVX512_BF16_INLINE void add(const Point& point) {
    const __m512 moved = point.move();
    z = _mm512_fmadd_ps(point.z, point.z, z);
    move = _mm512_fmadd_ps(moved, moved, move);
  }
  /// True if u and its move do not cancel in z, which would keep few of float32's digits.
  EK_AVX512_BF16_INLINE bool are_safe() const {
    constexpr double kLeast = 0x1p-12;  // of the larger of both
    const double square = avx512::sum_of_lanes(z);
    return fits_float32(square) && square > kLeast * std::max(1.0, avx512::sum_of_lanes(move));
  }
};

/// The rows of a step, and the inverses of their lengths.
struct SphereRows {
  const Bf16* start;
  const Bf16* towards;
  const double* step;
  __m512 a, b;  // 1 / |start|, 1 / |towards|

  template <typename Mask>
  EK_AVX512_BF16_INLINE Point at(std::int64_t i, Mask mask) const {
    const __m512 s = avx512::load_16(step + i, mask);
    const __m512 u = _mm512_mul_ps(avx512::load_16(start + i, mask), a);
    const __m512 v = _mm512_mul_ps(avx512::load_16(towards + i, mask), b);
    return {s, u, v, _mm512_fmadd_ps(s, _mm512_sub_ps(v, u), u)};
  }
};

/// The sums of the squares of both rows.
struct SquaresOfBoth {
  const Bf16* start;
  const Bf16* towards;
  __m512 of_start, of_towards;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    prefetch_ahead(start + i);
    prefetch_ahead(towards + i);
    const __m512 from = avx512::load_16(start + i, mask), to = avx512::load_16(towards + i, mask);
    of_start = _mm512_fmadd_ps(from, from, of_start);
    of_towards = _mm512_fmadd_ps(to, to, of_towards);
  }
};

/// \return false if a length leaves the safe range of float32
EK_AVX512_BF16_INLINE bool find_rows(const Bf16* start, const Bf16* towards, const double* step,
                                     std::int64_t width, SphereRows& rows) {
  SquaresOfBoth squares{start, towards, _mm512_setzero_ps(), _mm512_setzero_ps()};
  avx512::for_each_16_columns(width, squares);
  const double from = avx512::sum_of_lanes(squares.of_start);
  const double to = avx512::sum_of_lanes(squares.of_towards);
  if (!fits_float32(from) || !fits_float32(to)) return false;
  rows = {start, towards, step, _mm512_set1_ps(static_cast<float>(1 / std::sqrt(from))),
          _mm512_set1_ps(static_cast<float>(1 / std::sqrt(to)))};
  return true;
}

struct SquaresOfPoint {
  const SphereRows& rows;
  PointSquares squares;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    squares.add(rows.at(i, mask));
  }
};

struct StorePoint {
  const SphereRows& rows;
  __m512 c;  // 1 / |z|
  Bf16* y;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    avx512::store_rounded_16(y + i, _mm512_mul_ps(rows.at(i, mask).z, c), mask);
  }
};

EK_AVX512_BF16 bool sphere_forward(const Bf16* start, const Bf16* towards, const double* step,
                                   Bf16* y, std::int64_t width) {
  SphereRows rows;
  if (!find_rows(start, towards, step, width, rows)) return false;
  SquaresOfPoint of_row{rows, {_mm512_setzero_ps(), _mm512_setzero_ps()}};
  avx512::for_each_16_columns(width, of_row);
  if (!of_row.squares.are_safe()) return false;
  const auto c = static_cast<float>(1 / std::sqrt(avx512::sum_of_lanes(of_row.squares.z)));
  avx512::for_each_16_columns(width, StorePoint{rows, _mm512_set1_ps(c), y});
  return true;
}

/// The squares, z . dy and the largest |dy|.
struct AlongPoint {
  const SphereRows& rows;
  const Bf16* dy;
  PointSquares squares;
  __m512 dot, largest;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    prefetch_ahead(dy + i);
    const auto point = rows.at(i, mask);
    const __m512 upstream = avx512::load_16(dy + i, mask);
    squares.add(point);
    dot = _mm512_fmadd_ps(point.z, upstream, dot);
    largest = avx512::max_abs(largest, upstream);
  }
};

/// dz = c (dy - z along_y), the gradient of z.
struct PointGradient {
  const SphereRows& rows;
  const Bf16* dy;
  __m512 c, along_y;

  template <typename Mask>
  EK_AVX512_BF16_INLINE __m512 at(const Point& point, std::int64_t i, Mask mask) const {
    return _mm512_mul_ps(c, _mm512_fnmadd_ps(point.z, along_y, avx512::load_16(dy + i, mask)));
  }
};

/// u . (1 - step) dz and v . step dz.
struct AlongRows {
  const PointGradient& gradient;
  __m512 u, v;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) {
    const auto point = gradient.rows.at(i, mask);
    const __m512 dz = gradient.at(point, i, mask), to_v = _mm512_mul_ps(point.step, dz);
    u = _mm512_fmadd_ps(point.u, _mm512_sub_ps(dz, to_v), u);
    v = _mm512_fmadd_ps(point.v, to_v, v);
  }
};

struct StoreGradients {
  const PointGradient& gradient;
  const SphereGradient<Bf16>& row;
  __m512 along_u, along_v;

  template <typename Mask>
  EK_AVX512_BF16_INLINE void operator()(std::int64_t i, Mask mask) const {
    const auto& rows = gradient.rows;
    const auto point = rows.at(i, mask);
    const __m512 dz = gradient.at(point, i, mask), to_v = _mm512_mul_ps(point.step, dz);
    const __m512 du = _mm512_fnmadd_ps(point.u, along_u, _mm512_sub_ps(dz, to_v));
    const __m512 dv = _mm512_fnmadd_ps(point.v, along_v, to_v);
    avx512::store_rounded_16(row.dstart + i, _mm512_mul_ps(rows.a, du), mask);
    avx512::store_rounded_16(row.dtowards + i, _mm512_mul_ps(rows.b, dv), mask);
    avx512::add_16(row.dstep + i, _mm512_mul_ps(dz, _mm512_sub_ps(point.v, point.u)), mask);
  }
};

EK_AVX512_BF16 bool sphere_backward(const SphereGradient<Bf16>& row, std::int64_t width) {
  const __m512 none = _mm512_setzero_ps();
  SphereRows rows;
  if (!find_rows(row.start, row.towards, row.step, width, rows)) return false;
  AlongPoint along{rows, row.dy, {none, none}, none, none};
  avx512::for_each_16_columns(width, along);
  if (!along.squares.are_safe() || !avx512::max_fits_float32(along.largest)) return false;
  const double c = 1 / std::sqrt(avx512::sum_of_lanes(along.squares.z));
  const double along_y = c * c * avx512::sum_of_lanes(along.dot);
  const PointGradient gradient{rows, row.dy, _mm512_set1_ps(static_cast<float>(c)),
                               _mm512_set1_ps(static_cast<float>(along_y))};
  AlongRows projections{gradient, none, none};
  avx512::for_each_16_columns(width, projections);
  avx512::for_each_16_columns(
      width, StoreGradients{gradient, row, _mm512_set1_ps(_mm512_reduce_add_ps(projections.u)),
                            _mm512_set1_ps(_mm512_reduce_add_ps(projections.v))});
  return true;
}

}  // namespace

bool sphere_step_row_avx512(const Bf16* start, const Bf16* towards, const double* step, Bf16* y,
                            std::int64_t width) {
  return has_avx512_bf16() && sphere_forward(start, towards, step, y, width);
}

bool sphere_step_row_backward_avx512(const SphereGradient<Bf16>& row, std::int64_t width) {
  return has_avx512_bf16() && sphere_backward(row, width);
}

}  // namespace evenkeel::kernels::cpu
