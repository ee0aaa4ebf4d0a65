// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/expert_assignment.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_reduction.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// What a warp has taken of its row. Numbers come in the order of score, then place: taken are
/// those above `limit`, and of those equal to it the ones up to place `last`. NaNs come in the
/// order of place: taken are those before place `nans`.
template <typename T>
struct Taken {
  T limit = static_cast<T>(INFINITY);
  std::int64_t last = -1, nans = 0;

  __device__ bool has(T score, std::int64_t at) const {
    if (score != score) return at < nans;
    return score > limit || (score == limit && at <= last);
  }
};

/// A place and its score; place kNoPlace: none.
constexpr std::int64_t kNoPlace = INT64_MAX;

template <typename T>
struct Candidate {
  T score = 0;
  std::int64_t at = kNoPlace;

  __device__ bool is_after(const Candidate& other) const {
    if (at == kNoPlace || other.at == kNoPlace) return other.at < at;
    return other.score > score || (other.score == score && other.at < at);
  }
};

/// One warp a token.
template <typename T>
__global__ void top_k_kernel(const T* scores, std::int64_t tokens, std::int64_t experts,
                             std::int64_t k, std::int64_t* chosen) {
  const std::int64_t token =
      blockIdx.x * std::int64_t{blockDim.x / kWarpSize} + threadIdx.x / kWarpSize;
  if (token >= tokens) return;
  const int lane = threadIdx.x % kWarpSize;
  const T* const row = scores + token * experts;
  Taken<T> taken;
  for (std::int64_t j = 0; j < k; ++j) {
    std::int64_t first = kNoPlace;  // of all that are left
    Candidate<T> best;
    for (std::int64_t e = lane; e < experts; e += kWarpSize) {
      const T score = row[e];
      if (taken.has(score, e)) continue;
      first = min(first, e);
      if (score == score && best.is_after({score, e})) best = {score, e};
    }
#pragma unroll
    for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
      first = min(first, static_cast<std::int64_t>(
                             __shfl_xor_sync(kWholeWarp, static_cast<long long>(first), distance)));
      const Candidate<T> other = {
          __shfl_xor_sync(kWholeWarp, best.score, distance),
          __shfl_xor_sync(kWholeWarp, static_cast<long long>(best.at), distance)};
      if (best.is_after(other)) best = other;
    }
    if (row[first] != row[first]) {
      best.at = first;
      taken.nans = first + 1;
    } else {
      taken.limit = best.score;
      taken.last = best.at;
    }
    if (lane == 0) chosen[token * k + j] = best.at;
  }
}

/// The experts of the choices of the tile, -1 beyond the last choice.
__device__ void load_tile(const std::int64_t* expert, std::int64_t choices, int (&tile)[256]) {
  static_assert(kChoicesPerTile == 256);
  const std::int64_t choice = blockIdx.x * std::int64_t{kChoicesPerTile} + threadIdx.x;
  tile[threadIdx.x] = choice < choices ? static_cast<int>(expert[choice]) : -1;
  __syncthreads();
}

__global__ void count_choices_kernel(const std::int64_t* expert, std::int64_t choices,
                                     std::int64_t experts, std::int32_t* counts) {
  __shared__ int tile[kChoicesPerTile];
  load_tile(expert, choices, tile);
  for (std::int64_t e = threadIdx.x; e < experts; e += kChoicesPerTile) {
    std::int32_t count = 0;
#pragma unroll 8
    for (int i = 0; i < kChoicesPerTile; ++i) count += tile[i] == e ? 1 : 0;
    counts[e * gridDim.x + blockIdx.x] = count;
  }
}

__global__ void scatter_choices_kernel(ScatteredChoices args) {
  __shared__ int tile[kChoicesPerTile];
  load_tile(args.expert, args.choices, tile);
  const std::int64_t tiles = gridDim.x;
  if (blockIdx.x == 0) {
    for (std::int64_t e = threadIdx.x; e <= args.experts; e += kChoicesPerTile) {
      args.offsets[e] = e == 0 ? 0 : args.ends[e * tiles - 1];
    }
  }
  const std::int64_t choice = blockIdx.x * std::int64_t{kChoicesPerTile} + threadIdx.x;
  if (choice >= args.choices) return;
  const int mine = tile[threadIdx.x];
  std::int64_t rank = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) rank += tile[i] == mine ? 1 : 0;
  const std::int64_t cell = mine * tiles + blockIdx.x;
  const std::int64_t at = (cell == 0 ? 0 : args.ends[cell - 1]) + rank;
  args.permutation[at] = choice;
  args.token_of_row[at] = choice / args.k;
  args.inverse_permutation[choice] = at;
}

}  // namespace

template <typename T>
cudaError_t top_k(const T* scores, std::int64_t tokens, std::int64_t experts, std::int64_t k,
                  std::int64_t* chosen, cudaStream_t stream) {
  constexpr int kThreadsOfTopK = 128;
  return launch_blocks(top_k_kernel<T>, blocks_of(tokens, kThreadsOfTopK / kWarpSize),
                       kThreadsOfTopK, 0, stream, scores, tokens, experts, k, chosen);
}

cudaError_t count_choices(const std::int64_t* expert, std::int64_t choices, std::int64_t experts,
                          std::int32_t* counts, cudaStream_t stream) {
  return launch_blocks(count_choices_kernel, blocks_of(choices, kChoicesPerTile), kChoicesPerTile,
                       0, stream, expert, choices, experts, counts);
}

cudaError_t scatter_choices(const ScatteredChoices& args, cudaStream_t stream) {
  return launch_blocks(scatter_choices_kernel, blocks_of(args.choices, kChoicesPerTile),
                       kChoicesPerTile, 0, stream, args);
}

template cudaError_t top_k(const double*, std::int64_t, std::int64_t, std::int64_t, std::int64_t*,
                           cudaStream_t);
template cudaError_t top_k(const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t*,
                           cudaStream_t);

}  // namespace evenkeel::kernels::cuda
