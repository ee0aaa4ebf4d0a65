// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// A stable counting sort of the choices of tokens by expert, in tiles of choices. It waits for
/// nothing and has no atomics: top_k(), count_choices(), a prefix sum by the caller,
/// scatter_choices().
namespace evenkeel::kernels::cuda {

/// The number of choices of a tile, as many as a block has threads.
inline constexpr int kChoicesPerTile = 256;

/// The indices of the k largest of each row of scores, the largest first. A score that is NaN
/// is taken if it is the first one left, as by a loop of comparisons; equal scores in order.
/// \tparam T      double or float
/// \param scores  [tokens, experts]
/// \param chosen  [tokens, k], written
template <typename T>
cudaError_t top_k(const T* scores, std::int64_t tokens, std::int64_t experts, std::int64_t k,
                  std::int64_t* chosen, cudaStream_t stream);

/// The choices of each expert in each tile.
/// \param expert  [choices]: 0 .. experts - 1
/// \param counts  [experts, tiles], written
cudaError_t count_choices(const std::int64_t* expert, std::int64_t choices, std::int64_t experts,
                          std::int32_t* counts, cudaStream_t stream);

struct ScatteredChoices {
  const std::int64_t* expert;         // [choices]
  const std::int64_t* ends;           // [experts * tiles]: inclusive prefix sums of counts
  std::int64_t* permutation;          // [choices], written: choice of each row
  std::int64_t* token_of_row;         // [choices], written: choice / k
  std::int64_t* inverse_permutation;  // [choices], written: row of each choice
  std::int64_t* offsets;              // [experts + 1], written: first row of each expert
  std::int64_t choices, experts, k;
};
cudaError_t scatter_choices(const ScatteredChoices& args, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
