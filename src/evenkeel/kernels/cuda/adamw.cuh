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
  __nv_bfloat16* copy;  // or null
};

/// The step of kernels/adamw_factors.h, one thread a weight, in the arithmetic of W.
/// \return cudaSuccess, or why the launch was refused; it does not wait for the device
template <typename W, typename G>
cudaError_t adamw(const AdamwPointers<W, G>& buffers, std::int64_t count,
                  const AdamwFactors& factors, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
