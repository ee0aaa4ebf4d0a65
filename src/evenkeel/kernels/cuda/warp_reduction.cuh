// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Sums of the threads of a warp or block in a fixed order. Blocks are whole warps.
namespace evenkeel::kernels::cuda {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kWholeWarp = 0xffffffff;

/// The sum over a warp in a binary tree; the same bits for every lane.
template <typename F>
__device__ F warp_sum(F value) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, distance);
  }
  return value;
}

/// The largest value of a block that is no NaN, at least 0; the same for every thread.
template <typename F>
__device__ F block_largest(F value) {
  __shared__ F partial[kWarpSize];
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    const F other = __shfl_xor_sync(kWholeWarp, value, distance);
    value = other > value ? other : value;
  }
  __syncthreads();  // the values of the last call may still be read
  if (threadIdx.x % kWarpSize == 0) partial[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  value = 0;
  for (unsigned warp = 0; warp < blockDim.x / kWarpSize; ++warp) {
    value = partial[warp] > value ? partial[warp] : value;
  }
  return value;
}

/// Each of kSums sums over a block, in `sums` of every thread.
template <int kSums, typename F>
__device__ void block_sums(F (&sums)[kSums]) {
  __shared__ F partial[kSums][kWarpSize];
  const unsigned warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int s = 0; s < kSums; ++s) sums[s] = warp_sum(sums[s]);
  __syncthreads();  // the sums of the last call may still be read
  if (lane == 0) {
#pragma unroll
    for (int s = 0; s < kSums; ++s) partial[s][warp] = sums[s];
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    sums[s] = warp_sum(lane < blockDim.x / kWarpSize ? partial[s][lane] : F(0));
  }
}

/// The sum over a block, for every thread.
template <typename F>
__device__ F block_sum(F value) {
  F sums[1] = {value};
  block_sums(sums);
  return sums[0];
}

}  // namespace evenkeel::kernels::cuda
