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
  // C10_CUDA_CHECK forgets the error of LibTorch's CUDA runtime, and this program has its own.
  if (launched != cudaSuccess) cudaGetLastError();
  C10_CUDA_CHECK(launched);
}

inline cudaStream_t stream() {
  return c10::cuda::getCurrentCUDAStream();
}

}  // namespace evenkeel::ops::cuda
