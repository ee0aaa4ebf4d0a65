// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace evenkeel::kernels::cuda {

/// The rows of one id are summed in pieces of this length, from the first row to the last; the sums
/// of the pieces are added in order. So the bits depend on the rows of the id alone.
inline constexpr std::int64_t kEmbeddingPiece = 64;

/// gradient[id[i]] += dy[place[i]], in float (double for double), rounded once. Ids that are no
/// row of the gradient are skipped: the forward pass has refused them.
template <typename T, typename To>
struct EmbeddingGradientRows {
  const T* dy;                // [count, width]
  const std::int64_t* id;     // [count], sorted
  const std::int64_t* place;  // [count]: the row of dy of each id
  void* pieces;               // embedding_gradient_scratch() bytes
  To* gradient;               // [rows, width], added to
  std::int64_t count, rows, width;
};

/// Bytes for the sums of the pieces of frequent ids.
template <typename T>
std::int64_t embedding_gradient_scratch(std::int64_t count, std::int64_t width);

/// \tparam T, To  double, float or __nv_bfloat16 each, the same or __nv_bfloat16 and float
template <typename T, typename To>
cudaError_t add_embedding_gradient(const EmbeddingGradientRows<T, To>& args, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
