// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "kernels/cuda_emulated/emulator_kernels.cuh"

namespace evenkeel::testing {

namespace {

constexpr unsigned kAll = 0xFFFFFFFFU;

template <Mistake mistake>
__global__ void reverse_kernel(const float* x, float* y) {
  __shared__ float values[kThreads];
  const int i = threadIdx.x, offset = blockIdx.x * kThreads;
  const int lane = i % 32;
  values[i] = x[offset + i];
  if constexpr (mistake == Mistake::index_after_end) values[i] = x[offset + i + 1];
  if constexpr (mistake == Mistake::index_before_start) values[i] = x[offset + i - 1];
  if constexpr (mistake == Mistake::index_after_shared_end) values[i + 1] = 0;
  if constexpr (mistake == Mistake::race_of_blocks) {
    if (i == 0) y[0] = values[i];
  }
  if constexpr (mistake == Mistake::misaligned_vector) {
    values[i] = reinterpret_cast<const float4*>(x + 1)->y;
  }
  if constexpr (mistake == Mistake::divergent_barrier) {
    if (i < 40) __syncthreads();
  }
  if constexpr (mistake == Mistake::barrier_after_end) {
    if (i == 50) return;
  }
  if constexpr (mistake != Mistake::missing_barrier) __syncthreads();
  y[offset + i] = values[kThreads - 1 - i];

  if constexpr (mistake == Mistake::unwritten_shared) {
    __shared__ float other[kThreads];
    y[offset + i] = other[i];
  }
  if constexpr (mistake == Mistake::write_by_all_threads) {
    __shared__ float one;
    one = x[0];
    y[offset + i] = one;
  }
  if constexpr (mistake == Mistake::missing_warp_barrier) {
    values[i] = i;
    y[offset + i] += values[i ^ 1];
  }
  if constexpr (mistake == Mistake::shuffle_for_barrier) {
    __syncthreads();
    values[i] = i;
    y[offset + i] = __shfl_xor_sync(kAll, y[offset + i], 0);
    y[offset + i] += values[i ^ 1];
  }
  if constexpr (mistake == Mistake::local_of_another_thread) {
    __shared__ float* locals[kThreads];
    float local[4] = {x[0], x[1], x[2], x[3]};
    locals[i] = local;
    __syncthreads();
    y[offset + i] = locals[i ^ 1][i % 4];
    __syncthreads();
  }
  if constexpr (mistake == Mistake::lane_not_arriving) {
    if (lane != 7) __shfl_down_sync(kAll, y[offset + i], 1);
  }
  if constexpr (mistake == Mistake::lane_not_in_mask) {
    __shfl_sync(0x0000FFFFU, y[offset + i], 0);
  }
  if constexpr (mistake == Mistake::source_not_in_mask) {
    if (lane < 16) __shfl_sync(0x0000FFFFU, y[offset + i], 20);
  }
  if constexpr (mistake == Mistake::different_masks) {
    __shfl_xor_sync(lane < 16 ? kAll : 0xFFFF0000U, y[offset + i], 1);
  }
}

__global__ void __launch_bounds__(32) bounded_kernel(float* y) {
  y[threadIdx.x] = 0;
}

/// A tree of the lanes, then one of the warps. One warp uses __syncwarp() before it reads.
__global__ void sum_kernel(const float* x, float* y) {
  extern __shared__ float values[];
  __shared__ __align__(16) double total, of_warp[32];
  double sum = values[threadIdx.x] = x[threadIdx.x];
  for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(kAll, sum, half);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
    of_warp[threadIdx.x] = sum;
    for (int half = 16; half > 0; half /= 2) {
      __syncwarp();
      if (threadIdx.x < half) of_warp[threadIdx.x] += of_warp[threadIdx.x + half];
    }
    if (threadIdx.x == 0) total = of_warp[0];
  }
  __syncthreads();
  y[threadIdx.x] = static_cast<float>(total);
}

__global__ void empty_kernel() {}

template <Mistake mistake>
cudaError_t reverse_with(const float* x, float* y, int blocks, cudaStream_t stream) {
  reverse_kernel<mistake><<<blocks, kThreads, 0, stream>>>(x, y);
  return cudaGetLastError();
}

template <int... numbers>
cudaError_t reverse_by_number(std::integer_sequence<int, numbers...>, Mistake mistake,
                              const float* x, float* y, int blocks, cudaStream_t stream) {
  auto error = cudaSuccess;
  ((static_cast<int>(mistake) == numbers
        ? static_cast<void>(error = reverse_with<Mistake{numbers}>(x, y, blocks, stream))
        : void()),
   ...);
  return error;
}

}  // namespace

cudaError_t reverse(Mistake mistake, const float* x, float* y, int blocks, cudaStream_t stream) {
  if (mistake == Mistake::too_many_threads) {
    bounded_kernel<<<1, kThreads, 0, stream>>>(y);
    return cudaGetLastError();
  }
  constexpr int kCount = static_cast<int>(Mistake::too_many_threads);
  return reverse_by_number(std::make_integer_sequence<int, kCount>(), mistake, x, y, blocks,
                           stream);
}

cudaError_t sum(const float* x, float* y, int threads, std::size_t bytes, bool allow_bytes,
                cudaStream_t stream) {
  if (allow_bytes) {
    const auto error = cudaFuncSetAttribute(sum_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes));
    if (error != cudaSuccess) return error;
  }
  sum_kernel<<<1, threads, bytes, stream>>>(x, y);
  return cudaGetLastError();
}

cudaError_t launch_empty(dim3 grid, dim3 block, cudaStream_t stream) {
  empty_kernel<<<grid, block, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace evenkeel::testing
