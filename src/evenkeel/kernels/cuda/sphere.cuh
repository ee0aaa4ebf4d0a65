// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/sphere.h, one block of threads a row, in float (double for
/// double). Conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = unit(u + step (v - u)),  u = unit(start), v = unit(towards), unit(x) = x / max(|x|, 1e-12).
template <typename T>
struct SphereRows {
  const T* start;      // [rows, width]
  const T* towards;    // [rows, width]
  const double* step;  // [width]
  T* y;                // [rows, width], written
};
template <typename T>
cudaError_t sphere_step(const SphereRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream);

/// Of a row: u = start_scale start start_factor, v likewise, y = z factor, and the sum that dz
/// needs: dz = factor (dy - z along).
template <typename F>
struct SphereMoments {
  F start_scale, start_factor, towards_scale, towards_factor;
  F factor, along;
};

template <typename T>
struct SphereGradientRows {
  const T* dy;                            // [rows, width]
  const T* start;                         // [rows, width]
  const T* towards;                       // [rows, width]
  const double* step;                     // [width]
  T* dstart;                              // [rows, width], written
  T* dtowards;                            // [rows, width], written
  SphereMoments<OpMathType<T>>* moments;  // [rows], written: for dstep
  double* dstep;                          // [blocks, width], written
};
template <typename T>
cudaError_t sphere_step_backward(const SphereGradientRows<T>& args, std::int64_t rows,
                                 std::int64_t width, cudaStream_t stream);

/// The angle of the step: angle = min(decay (scale min(|t| / |x|, pi/4) + bias), pi/4), t below.
struct GeodesicParameters {
  const double* scale;  // [1], on the device
  const double* bias;   // [1], on the device
  double decay;
};

/// y = x cos(angle) + |x| t / |t| sin(angle),  t = g - x (x.g) / (x.x), the part of g orthogonal
/// to x; y = x + g for a zero row x.
template <typename T>
struct GeodesicRows {
  const T* x;  // [rows, width]
  const T* g;  // [rows, width]
  T* y;        // [rows, width], written
};
template <typename T>
cudaError_t geodesic_step(const GeodesicRows<T>& args, const GeodesicParameters& parameters,
                          std::int64_t rows, std::int64_t width, cudaStream_t stream);

template <typename T>
struct GeodesicGradientRows {
  const T* dy;     // [rows, width]
  const T* x;      // [rows, width]
  const T* g;      // [rows, width]
  T* dx;           // [rows, width], written
  T* dg;           // [rows, width], written
  double* dscale;  // [rows], written: the part of each row
  double* dbias;   // the same
};
template <typename T>
cudaError_t geodesic_step_backward(const GeodesicGradientRows<T>& args,
                                   const GeodesicParameters& parameters, std::int64_t rows,
                                   std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
