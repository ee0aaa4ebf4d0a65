// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The kernels of kernels/cpu/swiglu.h, one block of threads a row; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = up * silu(gate)
template <typename T>
struct SwigluRows {
  const T* products;  // [rows, 2 * inner]: up, then gate
  T* y;               // [rows, inner], written
};
template <typename T>
cudaError_t swiglu(const SwigluRows<T>& of, std::int64_t rows, std::int64_t inner,
                   cudaStream_t stream);

template <typename T>
struct SwigluGradientRows {
  const T* dy;        // [rows, inner]
  const T* products;  // [rows, 2 * inner]
  T* gradient;        // [rows, 2 * inner], written
  T* y = nullptr;     // [rows, inner], written unless null; may be dy itself
};
template <typename T>
cudaError_t swiglu_backward(const SwigluGradientRows<T>& of, std::int64_t rows, std::int64_t inner,
                            cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
