// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/adamw_factors.h"

namespace evenkeel::kernels::cuda {

/// The buffers of one AdamW step, [count] each. W is float or double, G also __nv_bfloat16.
template <typename W, typename G>
struct AdamwPointers {
  W* weight;
  W* first;
  W* second;
  const G* gradient;
  __nv_bfloat16* copy;                  // or null
  const float* device_scale = nullptr;  // [1], replaces factors.gradient_scale; or null
  const bool* device_skip = nullptr;    // [1], true: the step changes nothing; or null
};

/// The step of kernels/adamw_factors.h, in the arithmetic of W. device_scale and device_skip are
/// read on the device, so that clipping needs no answer from it.
/// \return cudaSuccess, or why the launch was refused; it does not wait for the device
template <typename W, typename G>
cudaError_t adamw(const AdamwPointers<W, G>& buffers, std::int64_t count,
                  const AdamwFactors& factors, cudaStream_t stream);

/// Where `copy` has other bits than the rounded weight, the weight becomes the value of `copy`.
/// \return as adamw()
template <typename W>
cudaError_t take_over_bf16(const __nv_bfloat16* copy, W* weight, std::int64_t count,
                           cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
