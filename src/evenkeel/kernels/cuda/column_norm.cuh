// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"
#include "evenkeel/kernels/cuda/row_groups.cuh"

/// The kernels of kernels/cpu/portable/column_norm.h: norms over the columns of sequences, in float
/// (double for double). T is float, double or __nv_bfloat16; x is [sequences, rows, width] and
/// contiguous. Values are centred on the first row of their sequence, so that means of any size
/// cost no digits: deviation = x - first row - offset.
namespace evenkeel::kernels::cuda {

/// Sums over each block of kBlockRows rows of x - first row, or of its deviations squared:
/// sums [blocks, sequences, width], written.
/// \param offset  [sequences, width]; null: the sums are of x - first row
template <typename T>
cudaError_t column_moments(const T* x, const OpMathType<T>* offset, double* sums,
                           const RowGroups& sequences, std::int64_t width, cudaStream_t stream);

/// y = gain * deviation * rho + bias
template <typename T>
struct ColumnNormRows {
  const T* x;                   // [sequences, rows, width]
  const OpMathType<T>* offset;  // [sequences, width], as is rho
  const OpMathType<T>* rho;
  const OpMathType<T>* gain;  // [width], as is bias
  const OpMathType<T>* bias;
  T* y;  // [sequences, rows, width], written
};
template <typename T>
cudaError_t column_norm(const ColumnNormRows<T>& args, const RowGroups& sequences,
                        std::int64_t width, cudaStream_t stream);

/// With x_hat = deviation * rho: the sums over blocks of rows of dy * x_hat and of dy, and
/// dx = gain * (rho * (dy - mean_dy) - x_hat * projection).
template <typename T>
struct ColumnNormGradientRows {
  const T* dy;                  // [sequences, rows, width]
  const T* x;                   // [sequences, rows, width]
  const OpMathType<T>* offset;  // [sequences, width], as is rho
  const OpMathType<T>* rho;
};
template <typename T>
cudaError_t column_norm_sums(const ColumnNormGradientRows<T>& args, double* dgain, double* dbias,
                             const RowGroups& sequences, std::int64_t width, cudaStream_t stream);

/// \param mean_dy, projection  [sequences, width]
/// \param gain                 [width]
/// \param dx                   [sequences, rows, width], written
template <typename T>
cudaError_t column_norm_backward(const ColumnNormGradientRows<T>& args,
                                 const OpMathType<T>* mean_dy, const OpMathType<T>* projection,
                                 const OpMathType<T>* gain, T* dx, const RowGroups& sequences,
                                 std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
