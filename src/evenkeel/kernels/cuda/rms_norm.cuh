// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_gradient.cuh"

/// The kernels of kernels/cpu/rms_norm.h. Rows of float and bfloat16, of up to 8,192 values in
/// multiples of 16 bytes, stay in registers; other rows take a slower kernel in double.
///
/// T is float, double or __nv_bfloat16; matrices are [rows, width] and contiguous, vectors [width]
/// or [rows]. Each returns cudaSuccess, or why the launch was refused; none waits for the device.
namespace evenkeel::kernels::cuda {

/// y = gain * x * rstd with rstd = 1 / sqrt(mean(x^2) + epsilon). With a branch, x + branch is
/// first rounded into sum and takes the place of x; without, branch and sum are null.
template <typename T>
struct RmsNormRows {
  const T* x;                 // [rows, width]
  const T* branch;            // [rows, width] or null
  const OpMathType<T>* gain;  // [width], or null for 1
  T* sum;                     // [rows, width], written, or null
  T* y;                       // [rows, width], written
  double* rstd;               // [rows], written
};
template <typename T>
cudaError_t rms_norm_forward(const RmsNormRows<T>& args, std::int64_t rows, std::int64_t width,
                             double epsilon, cudaStream_t stream);

/// dx = skip + rstd * (g - x_hat * mean(g * x_hat)), with g = dy * gain and x_hat = x * rstd. The
/// partial sums for the gradient of the gain are written, too.
template <typename T>
struct RmsNormGradientRows {
  const T* dy;                // [rows, width]
  const T* skip;              // [rows, width] or null
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width], or null for 1
  const double* rstd;         // [rows]
  T* dx;                      // [rows, width], written
  RowGradientPartials<T> partials;
};
template <typename T>
cudaError_t rms_norm_backward(const RmsNormGradientRows<T>& args, std::int64_t rows,
                              std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
