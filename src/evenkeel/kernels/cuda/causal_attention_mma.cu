// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/causal_attention_mma.cuh"

namespace evenkeel::kernels::cuda {

namespace {

using Bf16 = __nv_bfloat16;

/// Queries, and two tiles of keys and of values: one is copied while the other one is used.
template <int kWidth>
constexpr std::size_t kForwardBytes = 5 * sizeof(Bf16) * kMmaSize<kWidth>;

/// The maximum, or the sum, over the 4 lanes of a row.
__device__ float quad_maximum(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
}
__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 2);
  return value + __shfl_xor_sync(kAllLanes, value, 1);
}

/// Scores times scale, capped; -infinity for keys that a row does not see.
__device__ void finish_scores(const ColumnRange (&range)[2], float scale, float softcap,
                              float (&scores)[kMmaParts][4]) {
#pragma unroll
  for (int part = 0; part < kMmaParts; ++part) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool is_visible = range[i / 2].has(own_column(part) + i % 2);
      scores[part][i] = is_visible ? capped(scores[part][i] * scale, softcap) : -INFINITY;
    }
  }
}

/// The running softmax of the two rows of a lane.
template <int kWidth>
struct MmaSoftmax {
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  MmaSums<kWidth> sum;  // of weight * v

  /// Scores become weights; the sums so far are rescaled.
  __device__ void update(float (&scores)[kMmaParts][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = largest[half];
#pragma unroll
      for (int part = 0; part < kMmaParts; ++part) {
        most = fmaxf(most, fmaxf(scores[part][2 * half], scores[part][2 * half + 1]));
      }
      most = quad_maximum(most);
      const float base = most == -INFINITY ? 0 : most;  // no key so far
      float more = 0;
#pragma unroll
      for (int part = 0; part < kMmaParts; ++part) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[part][i] = exp2f((scores[part][i] - base) * kLog2E);
          more += scores[part][i];
        }
      }
      const float rescale = exp2f((largest[half] - base) * kLog2E);
      total[half] = total[half] * rescale + quad_sum(more);
      largest[half] = most;
      sum.scale_row(half, rescale);
    }
  }

  /// \param lse  of query 0
  __device__ void store_lse(float* lse, std::int64_t first, std::int64_t end) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto query = first + own_row(half);
      if (lane() % 4 == 0 && query < end) lse[query] = largest[half] + logf(total[half]);
    }
  }
};

template <int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    forward_kernel(AttentionForward<Bf16> args, AttentionSizes sizes) {
  extern __shared__ __align__(16) unsigned char forward_memory[];
  auto* const queries = reinterpret_cast<Bf16*>(forward_memory);
  auto* const keys = queries + kMmaSize<kWidth>;
  auto* const values = keys + 2 * kMmaSize<kWidth>;
  const QueryTile tile(sizes, args.document_starts, kMmaTile);
  const int width = static_cast<int>(sizes.width);
  const auto start = [&](std::int64_t k0, int buffer) {
    start_tile<kWidth>(args.k.at(tile.b, tile.kv_head), args.k.position, k0, sizes.keys, width,
                       keys + buffer * kMmaSize<kWidth>);
    start_tile<kWidth>(args.v.at(tile.b, tile.kv_head), args.v.position, k0, sizes.keys, width,
                       values + buffer * kMmaSize<kWidth>);
  };
  start_tile<kWidth>(args.q.at(tile.b, tile.h), args.q.position, tile.first, sizes.queries, width,
                     queries);
  start(tile.begin, 0);
  MmaSoftmax<kWidth> softmax;
  softmax.sum.clear();
  int buffer = 0;
  for (auto k0 = tile.begin; k0 < tile.end; k0 += kMmaTile, buffer = 1 - buffer) {
    wait_for_copies();
    __syncthreads();  // the tile is there for all, and the other one is not read any more
    if (k0 + kMmaTile < tile.end) start(k0 + kMmaTile, 1 - buffer);
    float scores[kMmaParts][4];
    multiply_tiles<kWidth>(queries, keys + buffer * kMmaSize<kWidth>, width, scores);
    ColumnRange range[2];
    find_own_ranges(tile, sizes, k0, range);
    finish_scores(range, static_cast<float>(sizes.scale), static_cast<float>(sizes.softcap),
                  scores);
    softmax.update(scores);
    softmax.sum.add(scores, values + buffer * kMmaSize<kWidth>, width);
  }
  const float factor[2] = {1 / softmax.total[0], 1 / softmax.total[1]};
  softmax.sum.store(factor, args.y.at(tile.b, tile.h), args.y.position, tile.first, sizes.queries,
                    width);
  softmax.store_lse(args.lse + tile.offset, tile.first, sizes.queries);
}

template <int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    largest_scores_kernel(AttentionForward<Bf16> args, AttentionSizes sizes, float* largest) {
  extern __shared__ __align__(16) unsigned char score_memory[];
  __shared__ float of_warp[kMmaThreads / 32];
  auto* const queries = reinterpret_cast<Bf16*>(score_memory);
  auto* const keys = queries + kMmaSize<kWidth>;
  const QueryTile tile(sizes, args.document_starts, kMmaTile);
  const int width = static_cast<int>(sizes.width);
  start_tile<kWidth>(args.q.at(tile.b, tile.h), args.q.position, tile.first, sizes.queries, width,
                     queries);
  float most = -INFINITY;
  for (auto k0 = tile.begin; k0 < tile.end; k0 += kMmaTile) {
    __syncthreads();  // the last keys are not read any more
    start_tile<kWidth>(args.k.at(tile.b, tile.kv_head), args.k.position, k0, sizes.keys, width,
                       keys);
    wait_for_copies();
    __syncthreads();
    float scores[kMmaParts][4];
    multiply_tiles<kWidth>(queries, keys, width, scores);
    ColumnRange range[2];
    find_own_ranges(tile, sizes, k0, range);
    finish_scores(range, static_cast<float>(sizes.scale), /*softcap=*/0, scores);
#pragma unroll
    for (int i = 0; i < kMmaParts * 4; ++i) most = fmaxf(most, scores[i / 4][i % 4]);
  }
  for (int step = 16; step > 0; step /= 2)
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, step));
  if (lane() == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kMmaThreads / 32; ++i) most = fmaxf(most, of_warp[i]);
  const auto tiles = (sizes.queries + kMmaTile - 1) / kMmaTile;
  largest[(tile.b * sizes.heads + tile.h) * tiles + tile.first / kMmaTile] = most;
}

std::int64_t query_blocks(const AttentionSizes& sizes) {
  return sizes.batch * sizes.heads * ((sizes.queries + kMmaTile - 1) / kMmaTile);
}

}  // namespace

cudaError_t causal_attention_mma(const AttentionForward<Bf16>& args, const AttentionSizes& sizes,
                                 cudaStream_t stream) {
  return with_mma_width(sizes.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    return launch_tiles(forward_kernel<kWidth>, query_blocks(sizes), kMmaThreads,
                        kForwardBytes<kWidth>, stream, args, sizes);
  });
}

cudaError_t largest_scores_mma(const AttentionForward<Bf16>& args, const AttentionSizes& sizes,
                               float* largest, cudaStream_t stream) {
  return with_mma_width(sizes.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    return launch_tiles(largest_scores_kernel<kWidth>, query_blocks(sizes), kMmaThreads,
                        2 * sizeof(Bf16) * kMmaSize<kWidth>, stream, args, sizes, largest);
  });
}

}  // namespace evenkeel::kernels::cuda
