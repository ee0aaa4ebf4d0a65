// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/sum_totals.cuh"
#include "evenkeel/kernels/cuda/warp_reduction.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr int kTotalWarps = 16, kTotalThreads = kTotalWarps * kWarpSize;

/// Lane l takes column l of 32, warp w the sums w, w + 16, ...
__global__ void column_totals_kernel(const double* sums, std::int64_t blocks, std::int64_t width,
                                     double* totals) {
  __shared__ double of_warps[kTotalWarps][kWarpSize];
  const int warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  const std::int64_t column = blockIdx.x * std::int64_t{kWarpSize} + lane;
  double sum = 0;
  if (column < width) {
#pragma unroll 4
    for (std::int64_t block = warp; block < blocks; block += kTotalWarps) {
      sum += sums[block * width + column];
    }
  }
  of_warps[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || column >= width) return;
  for (int other = 1; other < kTotalWarps; ++other) sum += of_warps[other][lane];
  totals[column] = sum;
}

__global__ void value_total_kernel(const double* values, std::int64_t count, double* total) {
  double sum = 0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < count; i += kTotalThreads) sum += values[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

}  // namespace

cudaError_t column_totals(const double* sums, std::int64_t blocks, std::int64_t width,
                          double* totals, cudaStream_t stream) {
  return launch_blocks(column_totals_kernel, blocks_of(width, kWarpSize), kTotalThreads, 0, stream,
                       sums, blocks, width, totals);
}

cudaError_t value_total(const double* values, std::int64_t count, double* total,
                        cudaStream_t stream) {
  return launch_blocks(value_total_kernel, 1, kTotalThreads, 0, stream, values, count, total);
}

}  // namespace evenkeel::kernels::cuda
