// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Sums over rows and over flat buffers in the fixed order of kernels/reduction_order.h;
/// conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// Inputs and outputs of the sums for the gradients of a gain and a bias.
template <typename T>
struct RowGradientArguments {
  const T* dy;         // [rows, width]
  const T* x;          // [rows, width]
  const double* mean;  // [rows], or null for 0
  const double* rstd;  // [rows], or null for 1
  double* dgain;       // [blocks, width], written: the sum of dy * (x - mean) * rstd
  double* dbias;       // [blocks, width], written: the sum of dy; or null
};

/// The sums over each block of kBlockRows rows.
template <typename T>
cudaError_t add_row_blocks(const RowGradientArguments<T>& args, std::int64_t rows,
                           std::int64_t width, cudaStream_t stream);

/// The sum of x^2 over each block of kBlockValues values: sums [blocks], written.
template <typename T>
cudaError_t sum_of_squares(const T* x, double* sums, std::int64_t count, cudaStream_t stream);

/// Adds up the rows of sums [blocks, width] in a binary tree, into row 0.
cudaError_t tree_sum(double* sums, std::int64_t blocks, std::int64_t width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
