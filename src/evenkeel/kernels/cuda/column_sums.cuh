// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "evenkeel/kernels/cuda/row_groups.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_reduction.cuh"
#include "evenkeel/kernels/reduction_order.h"

/// Sums over the rows of each block of kBlockRows rows, for the gradients of vectors and for norms
/// over columns. The caller adds up the blocks.
namespace evenkeel::kernels::cuda {

/// The sums, [blocks of rows, groups, width] each, written; null: not required.
template <int kSums>
struct ColumnSums {
  double* sums[kSums];
};

inline constexpr int kColumnWarps = 8;

/// A warp takes every eighth row of its block of rows, a lane kCount columns.
/// \tparam Terms  terms.load(row, column, RowVector<F, kCount> (&terms)[kSums]) gives the terms
template <int kCount, int kSums, typename F, typename Terms>
__global__ void column_sums_kernel(Terms terms, ColumnSums<kSums> to, RowGroups rows,
                                   std::int64_t width) {
  constexpr int kColumns = kWarpSize * kCount;
  __shared__ F of_warps[kColumnWarps][kColumns];
  const std::int64_t parts = (width + kColumns - 1) / kColumns;
  const std::int64_t cell = blockIdx.x / parts, first_column = blockIdx.x % parts * kColumns;
  const std::int64_t block = cell / rows.groups, group = cell % rows.groups;
  const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  const std::int64_t column = first_column + lane * kCount;
  RowVector<F, kCount> sums[kSums] = {};
  if (column < width) {
    const std::int64_t end = min(rows.rows, (block + 1) * kBlockRows);
    for (std::int64_t row = block * kBlockRows + warp; row < end; row += kColumnWarps) {
      RowVector<F, kCount> of_row[kSums];
      terms.load(group * rows.rows + row, column, of_row);
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) sums[s][k] += of_row[s][k];
      }
    }
  }
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    if (to.sums[s] == nullptr) continue;
    __syncthreads();  // the sums of the last vector may still be read
#pragma unroll
    for (int k = 0; k < kCount; ++k) of_warps[warp][lane * kCount + k] = sums[s][k];
    __syncthreads();
    for (int i = threadIdx.x; i < kColumns && first_column + i < width; i += blockDim.x) {
      double sum = 0;
      for (int w = 0; w < kColumnWarps; ++w) sum += static_cast<double>(of_warps[w][i]);
      to.sums[s][cell * width + first_column + i] = sum;
    }
  }
}

template <int kCount, int kSums, typename F, typename Terms>
cudaError_t launch_column_sums(const Terms& terms, const ColumnSums<kSums>& to,
                               const RowGroups& rows, std::int64_t width, cudaStream_t stream) {
  constexpr int kColumns = kWarpSize * kCount;
  return launch_blocks(column_sums_kernel<kCount, kSums, F, Terms>,
                       blocks_of(rows.rows, kBlockRows) * rows.groups * blocks_of(width, kColumns),
                       kColumnWarps * kWarpSize, 0, stream, terms, to, rows, width);
}

}  // namespace evenkeel::kernels::cuda
