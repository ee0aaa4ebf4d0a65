// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/bounded.h: DyT and Derf, in float (double for double).
/// Conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = gain * f(alpha x + shift) + bias
/// \source Zhu et al. 2025, arXiv:2503.10622 (tanh); arXiv:2512.10938 (erf)
struct BoundedParameters {
  const double* alpha;  // [1], on the device
  const double* shift;  // [1], on the device; null: 0
  bool is_erf;          // f = erf; false: f = tanh
};

template <typename T>
struct BoundedRows {
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  const OpMathType<T>* bias;  // [width]
  T* y;                       // [rows, width], written
};
template <typename T>
cudaError_t bounded(const BoundedRows<T>& args, const BoundedParameters& parameters,
                    std::int64_t rows, std::int64_t width, cudaStream_t stream);

/// With g = dy * gain and f' = f'(alpha x + shift): dx = alpha g f', and sums over the rows of each
/// block of g f' x, g f', dy f and dy.
template <typename T>
struct BoundedGradientRows {
  const T* dy;                // [rows, width]
  const T* x;                 // [rows, width]
  const OpMathType<T>* gain;  // [width]
  T* dx;                      // [rows, width], written
  double* dalpha;             // [blocks, width], written
  double* dshift;             // [blocks, width], written; null: not required
  double* dgain;              // the same
  double* dbias;              // the same
};
template <typename T>
cudaError_t bounded_backward(const BoundedGradientRows<T>& args,
                             const BoundedParameters& parameters, std::int64_t rows,
                             std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
