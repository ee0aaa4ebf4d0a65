// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// Gradients of a gain and a bias, in two steps: a kernel writes partial sums, each over some rows;
/// row_gradient_total() adds them up. Conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// Where the partial sums of a backward pass go. Partial k is over the rows of block k, at most
/// 128.
template <typename T>
struct RowGradientPartials {
  std::int64_t count = 0;          // row_gradient_partials(); the blocks of the backward kernel
  OpMathType<T>* dgain = nullptr;  // [count, width], written: sums of dy * x_hat; or null
  OpMathType<T>* dbias = nullptr;  // [count, width], written: sums of dy; or null
};

/// The number of partial sums over the rows of a matrix. It depends on the multiprocessors of the
/// current device, and so do the bits of the sums.
template <typename T>
std::int64_t row_gradient_partials(std::int64_t rows, std::int64_t width);

/// total [width] = the sum of partials [count, width], in double and in a fixed order.
template <typename P, typename G>
cudaError_t row_gradient_total(const P* partials, std::int64_t count, std::int64_t width, G* total,
                               cudaStream_t stream);

/// Rows of any width and address.
template <typename T>
struct RowGradientRows {
  const T* dy;         // [rows, width]
  const T* x;          // [rows, width]
  const double* mean;  // [rows], or null for 0
  const double* rstd;  // [rows], or null for 1
};

/// The partial sums of rows, one thread a column, added up in double.
/// \param P  T; or double, for partial sums that are not rounded to float
template <typename T, typename P>
cudaError_t row_gradient_by_column(const RowGradientRows<T>& args,
                                   const RowGradientPartials<P>& partials, std::int64_t rows,
                                   std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
