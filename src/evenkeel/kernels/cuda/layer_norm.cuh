// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_gradient.cuh"

/// The kernels of kernels/cpu/layer_norm.h; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = gain * (x - mean) * rstd + bias.
template <typename T>
struct LayerNormRows {
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width], or null for 1
  const OpMathType<T>* bias;  // [width], or null for 0
  T* y;                       // [rows, width], written
  double* mean;               // [rows], written
  double* rstd;               // [rows], written
};
template <typename T>
cudaError_t layer_norm_forward(const LayerNormRows<T>& args, std::int64_t rows, std::int64_t width,
                               double epsilon, cudaStream_t stream);

/// dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)), with g = dy * gain and
/// x_hat = (x - mean) * rstd. The partial sums for the gradients of gain and bias are written, too.
template <typename T>
struct LayerNormGradientRows {
  const T* dy;                // [rows, width]
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width], or null for 1
  const double* mean;         // [rows]
  const double* rstd;         // [rows]
  T* dx;                      // [rows, width], written
  RowGradientPartials<T> partials;
};
template <typename T>
cudaError_t layer_norm_backward(const LayerNormGradientRows<T>& args, std::int64_t rows,
                                std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
