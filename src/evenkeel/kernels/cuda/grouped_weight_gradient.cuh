// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace evenkeel::kernels::cuda {

/// sum[e] += dy^T x, or sum[e] = dy^T x, over the rows of each group e, from offsets[e] to
/// offsets[e + 1]: the gradient of the weights of experts, by tensor cores, with sums in float over
/// the rows in their order. Offsets are read on the device.
struct GroupedWeightGradient {
  const __nv_bfloat16* dy;      // [offsets[groups], rows]
  const __nv_bfloat16* x;       // [offsets[groups], columns]
  const std::int64_t* offsets;  // [groups + 1]
  float* sum;                   // [groups, rows, columns], added to, or written
  std::int64_t groups, rows, columns;
  bool is_first;
};

/// True if addresses and sizes are multiples of 16 bytes, as add_grouped_weight_gradient() needs.
bool takes_grouped_weight_gradient(const GroupedWeightGradient& args);

cudaError_t add_grouped_weight_gradient(const GroupedWeightGradient& args, cudaStream_t stream);

/// The same by WGMMA, instructions of compute capability 9.0 (H100, H200), with sums in another
/// order. Meant to be faster; not yet measured.
/// \pre takes_warpgroup_gradient(args): such a GPU, and matrices that fill a good part of a tile
cudaError_t add_warpgroup_gradient(const GroupedWeightGradient& args, cudaStream_t stream);
bool takes_warpgroup_gradient(const GroupedWeightGradient& args);

}  // namespace evenkeel::kernels::cuda
