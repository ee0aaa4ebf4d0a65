// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_gradient.cuh"

/// The kernels of kernels/cpu/affine.h; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = gain * x + bias. With dy for x and no bias it is the gradient of x.
template <typename T>
struct AffineRows {
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width], or null for 1
  const OpMathType<T>* bias;  // [width], or null for 0
  T* y;                       // [rows, width], written
};
template <typename T>
cudaError_t affine(const AffineRows<T>& args, std::int64_t rows, std::int64_t width,
                   cudaStream_t stream);

/// dx = gain * dy. The partial sums for the gradients of gain and bias are written, too.
template <typename T>
struct AffineGradientRows {
  const T* dy;                // [rows, width]
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width], or null for 1
  T* dx;                      // [rows, width], written
  RowGradientPartials<T> partials;
};
template <typename T>
cudaError_t affine_backward(const AffineGradientRows<T>& args, std::int64_t rows,
                            std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
