// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// The kernels of kernels/cpu/swiglu.h, one block of threads a row; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// y = up * silu(gate)
template <typename T>
struct SwigluRows {
  const T* up_gate;  // [rows, 2 * ffn_width]: up, then gate
  T* y;              // [rows, ffn_width], written
};
template <typename T>
cudaError_t swiglu(const SwigluRows<T>& args, std::int64_t rows, std::int64_t ffn_width,
                   cudaStream_t stream);

template <typename T>
struct SwigluGradientRows {
  const T* dy;       // [rows, ffn_width]
  const T* up_gate;  // [rows, 2 * ffn_width]
  T* gradient;       // [rows, 2 * ffn_width], written
  T* y = nullptr;    // [rows, ffn_width], written unless null; may be dy itself
};
template <typename T>
cudaError_t swiglu_backward(const SwigluGradientRows<T>& args, std::int64_t rows,
                            std::int64_t ffn_width, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
