// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/affine.h, one block of threads a row; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = gain * x + bias. With dy for x and no bias it is the gradient of x.
template <typename T>
struct AffineRows {
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  const OpMathType<T>* bias;  // [width], or null for 0
  T* y;                       // [rows, width], written
};
template <typename T>
cudaError_t affine(const AffineRows<T>& args, std::int64_t rows, std::int64_t width,
                   cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
