// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

/// Device code that the kernels share: values as doubles, and sums over a block of threads in a
/// fixed order; and a launcher. The arithmetic is that of kernels/cpu/common/row_common.h.
namespace evenkeel::kernels::cuda {

constexpr int kThreads = 256;  // a power of two: the sums are binary trees

template <typename T>
__device__ double load(const T* from) {
  return static_cast<double>(*from);
}
__device__ inline double load(const __nv_bfloat16* from) {
  return static_cast<double>(__bfloat162float(*from));
}

template <typename T>
__device__ void store(T* to, double value) {
  *to = static_cast<T>(value);
}
__device__ inline void store(__nv_bfloat16* to, double value) {
  *to = __float2bfloat16_rn(static_cast<float>(value));
}

__device__ inline float exponential(float x) {
  return expf(x);
}
__device__ inline double exponential(double x) {
  return exp(x);
}

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct Larger {
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// The values of all threads of the block, combined in a binary tree; the same for every thread.
template <typename Combine>
__device__ double block_reduce(double value, Combine combine) {
  __shared__ double lane[kThreads];
  __syncthreads();  // the result of the last call may still be read
  lane[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      lane[threadIdx.x] = combine(lane[threadIdx.x], lane[threadIdx.x + half]);
    __syncthreads();
  }
  return lane[0];
}

/// term(0) + ... + term(width - 1), by the whole block.
template <typename Term>
__device__ double sum_over(std::int64_t width, const Term& term) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) sum += term(i);
  return block_reduce(sum, Add{});
}

/// A power of two that brings the squares of a row, and epsilon, into the range of a double.
/// Rows of float and bfloat16 lie there as they are.
template <typename T>
__device__ double row_scale(const T* x, std::int64_t width, double epsilon) {
  if constexpr (!std::is_same_v<T, double>) {
    return 1;
  } else {
    double largest = sqrt(epsilon);
    for (std::int64_t i = threadIdx.x; i < width; i += kThreads)
      largest = fmax(largest, fabs(x[i]));
    largest = block_reduce(largest, Larger{});
    if (!isfinite(largest) || largest == 0) return 1;
    constexpr int kNormal = 1022;  // both 2^1022 and 2^-1022 are normal numbers
    return ldexp(1.0, -max(-kNormal, min(kNormal, ilogb(largest))));
  }
}

/// Launches a block of threads for each row; nothing without rows.
template <typename... Parameters>
cudaError_t launch_rows(void (*kernel)(Parameters...), std::int64_t rows, cudaStream_t stream,
                        const std::type_identity_t<Parameters>&... arguments) {
  if (rows == 0) return cudaSuccess;
  kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(arguments...);
  return cudaGetLastError();
}

/// 1 / sqrt(mean_square), and 0 for a row without extent.
__device__ inline double inverse_root(double mean_square) {
  return mean_square == 0 ? 0 : 1 / sqrt(mean_square);
}

}  // namespace evenkeel::kernels::cuda
