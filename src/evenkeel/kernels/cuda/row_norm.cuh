// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// The kernels of kernels/cpu/portable/row_norm.h, one block of threads a group of a row, in float
/// (double for double). Conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// As kernels::cpu::RowDenominator, for groups of `width` values.
struct RowDenominator {
  enum class EpsilonAt { inside, outside, clamp };

  std::int64_t width = 0, groups = 1;  // of a group; a row has width * groups values
  bool is_centred = false;
  std::int64_t partial_width = 0;
  bool is_length = false;
  double epsilon = 0;
  EpsilonAt epsilon_at = EpsilonAt::inside;
  bool absmax8 = false;
};

/// x_hat = (scale x - first - mean) rho, with a power of two `scale`, nearly always 1.
template <typename F>
struct RowMoments {
  F scale, first, mean, rho;
};

template <typename T>
struct RowNormRows {
  const T* x;                 // [rows, groups * width]
  const OpMathType<T>* gain;  // [groups * width]
  const OpMathType<T>* bias;  // [groups * width]
  T* y;                       // [rows, groups * width], written
};
template <typename T>
cudaError_t row_norm(const RowNormRows<T>& args, std::int64_t rows,
                     const RowDenominator& denominator, cudaStream_t stream);

template <typename T>
struct RowNormGradientRows {
  const T* dy;                         // [rows, groups * width]
  const T* x;                          // [rows, groups * width]
  const OpMathType<T>* gain;           // [groups * width]
  T* dx;                               // [rows, groups * width], written
  RowMoments<OpMathType<T>>* moments;  // [rows, groups], written: for the gradient of the gain
  double* dgain;  // [blocks of rows, groups * width], written; null: not required
  double* dbias;  // the same
};
template <typename T>
cudaError_t row_norm_backward(const RowNormGradientRows<T>& args, std::int64_t rows,
                              const RowDenominator& denominator, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
