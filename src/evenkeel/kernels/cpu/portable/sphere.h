// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cpu/common/simd.h"

/// Steps along a sphere from one row towards another, in double; sphere_step of bfloat16 in float32
/// where the processor has AVX-512 bfloat16. For rows of double, float or Bf16.
namespace evenkeel::kernels::cpu {

/// y = unit(u + step (v - u)),  u = unit(start), v = unit(towards), unit(x) = x / max(|x|, 1e-12).
/// \param step  [width]
template <typename T>
void sphere_step_row(const T* start, const T* towards, const double* step, T* y,
                     std::int64_t width);

/// One row of the backward pass.
template <typename T>
struct SphereGradient {
  const T* dy;
  const T* start;
  const T* towards;
  const double* step;
  T* dstart;      // written
  T* dtowards;    // written
  double* dstep;  // added to
};
template <typename T>
void sphere_step_row_backward(const SphereGradient<T>& row, std::int64_t width);

/// The angle of the step: angle = min(decay (scale min(|t| / |x|, pi/4) + bias), pi/4), t below.
struct GeodesicParameters {
  double scale = 1, bias = 0, decay = 1;
};

/// y = x cos(angle) + |x| t / |t| sin(angle),  t = g - x (x.g) / (x.x), the part of g orthogonal
/// to x; y = x + g for a zero row x.
template <typename T>
void geodesic_step_row(const T* x, const T* g, const GeodesicParameters& parameters, T* y,
                       std::int64_t width);

/// One row of the backward pass.
template <typename T>
struct GeodesicGradient {
  const T* dy;
  const T* x;
  const T* g;
  T* dx;           // written
  T* dg;           // written
  double* dscale;  // added to
  double* dbias;   // added to
};
template <typename T>
void geodesic_step_row_backward(const GeodesicGradient<T>& row,
                                const GeodesicParameters& parameters, std::int64_t width);

}  // namespace evenkeel::kernels::cpu
