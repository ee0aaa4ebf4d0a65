// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/rms_norm.h, one block of threads a row. T is float, double or
/// __nv_bfloat16; matrices are [rows, width] and contiguous, vectors [width] or [rows]. Each
/// returns cudaSuccess, or why the launch was refused; none waits for the device.
namespace evenkeel::kernels::cuda {

/// y = gain * x * rstd with rstd = 1 / sqrt(mean(x^2) + epsilon). With a branch, x + branch is
/// first rounded into sum and takes the place of x; without, branch and sum are null.
template <typename T>
struct RmsNormRows {
  const T* x;                 // [rows, width]
  const T* branch;            // [rows, width] or null
  const OpMathType<T>* gain;  // [width]
  T* sum;                     // [rows, width], written, or null
  T* y;                       // [rows, width], written
  double* rstd;               // [rows], written
};
template <typename T>
cudaError_t rms_norm_forward(const RmsNormRows<T>& args, std::int64_t rows, std::int64_t width,
                             double epsilon, cudaStream_t stream);

/// dx = skip + rstd * (g - x_hat * mean(g * x_hat)), with g = dy * gain and x_hat = x * rstd. The
/// gradient of the gain: add_row_blocks().
template <typename T>
struct RmsNormGradientRows {
  const T* dy;                // [rows, width]
  const T* skip;              // [rows, width] or null
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  const double* rstd;         // [rows]
  T* dx;                      // [rows, width], written
};
template <typename T>
cudaError_t rms_norm_backward(const RmsNormGradientRows<T>& args, std::int64_t rows,
                              std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
