// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>

#include <type_traits>

#include "evenkeel/kernels/cuda/block_reduction.cuh"

/// Shared by the CUDA adapters: device pointers of tensors, and the current stream.
namespace evenkeel::ops::cuda {

/// The element type in kernels/cuda: __nv_bfloat16 for at::BFloat16, else T.
template <typename T>
using KernelType = std::conditional_t<std::is_same_v<T, at::BFloat16>, __nv_bfloat16, T>;

template <typename T>
const KernelType<T>* const_data(const at::Tensor& tensor) {
  return reinterpret_cast<const KernelType<T>*>(tensor.const_data_ptr<T>());
}

template <typename T>
KernelType<T>* mutable_data(const at::Tensor& tensor) {
  return reinterpret_cast<KernelType<T>*>(tensor.mutable_data_ptr<T>());
}

/// Checks the result of a kernel launch.
/// \throws c10::Error if the launch failed
inline void check(cudaError_t launched) {
  C10_CUDA_CHECK(launched);
}

inline cudaStream_t stream() {
  return c10::cuda::getCurrentCUDAStream();
}

/// The sum over blocks, in the tree of kernels/reduction_order.h: [D], float64.
/// \param sums  result of zero_block_sums(); overwritten
inline at::Tensor tree_sum(const at::Tensor& sums) {
  if (sums.size(0) == 0) return sums.sum(0);
  check(kernels::cuda::tree_sum(mutable_data<double>(sums), sums.size(0), sums.size(1), stream()));
  return sums[0];
}

}  // namespace evenkeel::ops::cuda
