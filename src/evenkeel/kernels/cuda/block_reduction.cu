// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cuda/block_reduction.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_factor.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr int kSquareBlocks = 4;      // that a multiprocessor holds
constexpr std::int64_t kUnit = 4096;  // values that a block takes at once, at least
constexpr int kTotalThreads = 1024;

/// One value after another, in double.
template <typename T>
__global__ void squares_kernel(const T* x, double* sums, std::int64_t count) {
  const std::int64_t step = gridDim.x * static_cast<std::int64_t>(kThreads);
  double sum = 0;
  for (auto i = blockIdx.x * static_cast<std::int64_t>(kThreads) + threadIdx.x; i < count;
       i += step) {
    const double value = load(x + i);
    sum += value * value;
  }
  sum = block_reduce(sum, Add{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Four packs at once: their sum is in float, the sum of those in double.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    pack_squares_kernel(const T* x, double* sums, std::int64_t count) {
  constexpr int kPacks = 4;
  const std::int64_t packs = count / kPack<T>;
  const std::int64_t step = gridDim.x * static_cast<std::int64_t>(kPacks * kThreads);
  double sum = 0;
  for (auto first = blockIdx.x * static_cast<std::int64_t>(kPacks * kThreads) + threadIdx.x;
       first < packs; first += step) {
    RowPack<T> pack[kPacks];
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const std::int64_t p = first + k * kThreads;
      pack[k] = {};
      if (p < packs) pack[k] = RowPack<T>::load(x + p * kPack<T>);
    }
    sum += scaled_squares(0x1p-100F, [&](float scale) {
      float squares = 0;
      for_each_value<T, kPacks>([&](int k, int i) {
        const float scaled = pack[k].at(i) * scale;
        squares = fmaf(scaled, scaled, squares);
      });
      return squares;
    });
  }
  const std::int64_t last = packs * kPack<T> + threadIdx.x;  // of what is no pack
  if (blockIdx.x == 0 && last < count) {
    const double value = load(x + last);
    sum += value * value;
  }
  sum = block_reduce(sum, Add{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void total_kernel(const double* sums, std::int64_t count, double* total) {
  __shared__ double shared[kTotalThreads];
  const auto me = static_cast<int>(threadIdx.x);
  double sum = 0;
  for (std::int64_t i = me; i < count; i += kTotalThreads) sum += sums[i];
  shared[me] = sum;
  for (int half = kTotalThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (me < half) shared[me] += shared[me + half];
  }
  if (me == 0) *total = shared[0];
}

}  // namespace

std::int64_t square_sums(std::int64_t count) {
  return std::min(std::int64_t{multiprocessor_count()} * kSquareBlocks, blocks_of(count, kUnit));
}

template <typename T>
cudaError_t sum_of_squares(const T* x, double* sums, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(square_sums(count));
  if constexpr (!std::is_same_v<T, double>) {
    if (are_aligned(x)) {
      pack_squares_kernel<T><<<blocks, kThreads, 0, stream>>>(x, sums, count);
      return cudaGetLastError();
    }
  }
  squares_kernel<T><<<blocks, kThreads, 0, stream>>>(x, sums, count);
  return cudaGetLastError();
}

cudaError_t sum_total(const double* sums, std::int64_t count, double* total, cudaStream_t stream) {
  total_kernel<<<1, kTotalThreads, 0, stream>>>(sums, count, total);
  return cudaGetLastError();
}

#define EK_INSTANTIATE(T) \
  template cudaError_t sum_of_squares(const T*, double*, std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
