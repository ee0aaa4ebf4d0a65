// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/seed_norm.h, one block of threads a row, in float (double
/// for double). Conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = (alpha tanh(x . beta) + gain) x / sqrt(mean(x^2) + epsilon) + bias
/// \source arXiv:2510.22777 (SeeDNorm)
template <typename T>
struct SeedNormParameters {
  const OpMathType<T>* alpha;  // [width], as are beta, gain and bias
  const OpMathType<T>* beta;
  const OpMathType<T>* gain;
  const OpMathType<T>* bias;  // of the forward pass only
  double epsilon;
};
template <typename T>
cudaError_t seed_norm(const T* x, const SeedNormParameters<T>& parameters, T* y, std::int64_t rows,
                      std::int64_t width, cudaStream_t stream);

/// Of a row: x_hat = scale x rho, the value t of the tanh, and the sum s of
/// kernels/cpu/seed_norm.h.
template <typename F>
struct SeedNormMoments {
  F scale, rho, t, s;
};

template <typename T>
struct SeedNormGradientRows {
  const T* dy;                              // [rows, width]
  const T* x;                               // [rows, width]
  T* dx;                                    // [rows, width], written
  SeedNormMoments<OpMathType<T>>* moments;  // [rows], written: for the sums
  double* dalpha;                           // [blocks, width], written, as are dbeta and dgain
  double* dbeta;
  double* dgain;
  double* dbias;  // the same; null: not required
};
template <typename T>
cudaError_t seed_norm_backward(const SeedNormGradientRows<T>& args,
                               const SeedNormParameters<T>& parameters, std::int64_t rows,
                               std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
