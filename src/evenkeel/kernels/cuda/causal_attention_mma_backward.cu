// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/causal_attention_gradient.cuh"
#include "evenkeel/kernels/cuda/causal_attention_mma.cuh"

namespace evenkeel::kernels::cuda {

namespace {

using Bf16 = __nv_bfloat16;

/// Two tiles that stay, and two pairs of tiles: one is copied while the other one is used.
template <int kWidth>
constexpr std::size_t kBackwardBytes = 6 * sizeof(Bf16) * kMmaSize<kWidth>;

/// A pair of tiles in shared memory: keys and values, or queries and dy.
struct TilePair {
  Bf16 *first, *second;
};

template <int kWidth>
struct BackwardMemory {
  Bf16* tiles;
  __device__ explicit BackwardMemory(unsigned char* memory)
      : tiles(reinterpret_cast<Bf16*>(memory)) {}
  __device__ TilePair fixed() const { return pair(0); }
  __device__ TilePair moving(int buffer) const { return pair(1 + buffer); }

 private:
  __device__ TilePair pair(int i) const {
    Bf16* const first = tiles + 2 * i * kMmaSize<kWidth>;
    return {first, first + kMmaSize<kWidth>};
  }
};

template <int kWidth>
__device__ void start_queries(const AttentionBackward<Bf16>& args, const AttentionSizes& sizes,
                              std::int64_t b, std::int64_t h, std::int64_t first,
                              const TilePair& to) {
  const int width = static_cast<int>(sizes.width);
  start_tile<kWidth>(args.q.at(b, h), args.q.position, first, sizes.queries, width, to.first);
  start_tile<kWidth>(args.dy.at(b, h), args.dy.position, first, sizes.queries, width, to.second);
}

template <int kWidth>
__device__ void start_keys(const AttentionBackward<Bf16>& args, const AttentionSizes& sizes,
                           std::int64_t b, std::int64_t kv_head, std::int64_t first,
                           const TilePair& to) {
  const int width = static_cast<int>(sizes.width);
  start_tile<kWidth>(args.k.at(b, kv_head), args.k.position, first, sizes.keys, width, to.first);
  start_tile<kWidth>(args.v.at(b, kv_head), args.v.position, first, sizes.keys, width, to.second);
}

/// Slopes of a tile, in place of the gradients of weights; rows are queries.
__device__ void differentiate_rows(const ColumnRange (&range)[2], const float (&lse)[2],
                                   const float (&delta)[2], const AttentionSizes& sizes,
                                   const float (&scores)[kMmaParts][4],
                                   float (&gradients)[kMmaParts][4]) {
  const auto scale = static_cast<float>(sizes.scale), softcap = static_cast<float>(sizes.softcap);
#pragma unroll
  for (int i = 0; i < kMmaParts * 4; ++i) {
    const int part = i / 4, half = i % 4 / 2;
    const WeightSlope<float> one(range[half].has(own_column(part) + i % 2),
                                 scores[part][i % 4] * scale, gradients[part][i % 4], lse[half],
                                 delta[half], softcap);
    gradients[part][i % 4] = one.slope;
  }
}

/// Weights and slopes of a tile; rows are keys, columns queries.
__device__ void differentiate_columns(const QueryStatistics<float, kMmaTile>& statistics,
                                      const AttentionSizes& sizes, float (&scores)[kMmaParts][4],
                                      float (&gradients)[kMmaParts][4]) {
  const auto scale = static_cast<float>(sizes.scale), softcap = static_cast<float>(sizes.softcap);
#pragma unroll
  for (int i = 0; i < kMmaParts * 4; ++i) {
    const int part = i / 4, key = own_row(i % 4 / 2), query = own_column(part) + i % 2;
    const WeightSlope<float> one(statistics.keys[query].has(key), scores[part][i % 4] * scale,
                                 gradients[part][i % 4], statistics.lse[query],
                                 statistics.delta[query], softcap);
    scores[part][i % 4] = one.weight;
    gradients[part][i % 4] = one.slope;
  }
}

/// dq of a tile of queries: sums over its keys.
template <int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    query_gradient_kernel(AttentionBackward<Bf16> args, AttentionSizes sizes) {
  extern __shared__ __align__(16) unsigned char query_memory[];
  const BackwardMemory<kWidth> memory(query_memory);
  const QueryTile tile(sizes, args.document_starts, kMmaTile);
  const int width = static_cast<int>(sizes.width);
  start_queries<kWidth>(args, sizes, tile.b, tile.h, tile.first, memory.fixed());
  start_keys<kWidth>(args, sizes, tile.b, tile.kv_head, tile.begin, memory.moving(0));
  float lse[2], delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto query = tile.first + own_row(half);
    lse[half] = query < sizes.queries ? args.lse[tile.offset + query] : 0;
    delta[half] = query < sizes.queries ? args.delta[tile.offset + query] : 0;
  }
  const auto scale = static_cast<float>(sizes.scale);
  MmaSums<kWidth> dq;
  dq.clear();
  int buffer = 0;
  for (auto k0 = tile.begin; k0 < tile.end; k0 += kMmaTile, buffer = 1 - buffer) {
    const auto keys = memory.moving(buffer);
    wait_for_copies();
    __syncthreads();  // the tiles are there for all, and the other ones are not read any more
    if (k0 + kMmaTile < tile.end) {
      start_keys<kWidth>(args, sizes, tile.b, tile.kv_head, k0 + kMmaTile,
                         memory.moving(1 - buffer));
    }
    ColumnRange range[2];
    float scores[kMmaParts][4], gradients[kMmaParts][4];
    multiply_tiles<kWidth>(memory.fixed().first, keys.first, width, scores);
    multiply_tiles<kWidth>(memory.fixed().second, keys.second, width, gradients);
    find_own_ranges(tile, sizes, k0, range);
    differentiate_rows(range, lse, delta, sizes, scores, gradients);
    dq.add(gradients, keys.first, width);
  }
  dq.store({scale, scale}, args.dq.at(tile.b, tile.h), args.dq.position, tile.first, sizes.queries,
           width);
}

/// dk and dv of a tile of keys: sums over the queries of all its query heads.
template <int kWidth>
__global__ void __launch_bounds__(kMmaThreads)
    key_gradient_kernel(AttentionBackward<Bf16> args, AttentionSizes sizes) {
  extern __shared__ __align__(16) unsigned char key_memory[];
  __shared__ QueryStatistics<float, kMmaTile> statistics[2];
  const BackwardMemory<kWidth> memory(key_memory);
  const KeyTile tile(sizes, args.document_starts, kMmaTile);
  const int width = static_cast<int>(sizes.width);
  const auto tiles = (tile.end - tile.begin + kMmaTile - 1) / kMmaTile;
  const auto group = sizes.heads / sizes.kv_heads;
  const auto start = [&](std::int64_t i, int buffer) {  // tile i of all queries of the group
    const auto h = tile.kv_head * group + i / tiles, q0 = tile.begin + i % tiles * kMmaTile;
    start_queries<kWidth>(args, sizes, tile.b, h, q0, memory.moving(buffer));
    statistics[buffer].load(args, sizes, tile, h, q0);
  };
  start_keys<kWidth>(args, sizes, tile.b, tile.kv_head, tile.first, memory.fixed());
  if (tiles > 0) start(0, 0);
  MmaSums<kWidth> dk, dv;
  dk.clear();
  dv.clear();
  for (std::int64_t i = 0; i < group * tiles; ++i) {
    const int buffer = static_cast<int>(i % 2);
    const auto queries = memory.moving(buffer);
    wait_for_copies();
    __syncthreads();  // the tiles are there for all, and the other ones are not read any more
    if (i + 1 < group * tiles) start(i + 1, 1 - buffer);
    float scores[kMmaParts][4], gradients[kMmaParts][4];
    multiply_tiles<kWidth>(memory.fixed().first, queries.first, width, scores);
    multiply_tiles<kWidth>(memory.fixed().second, queries.second, width, gradients);
    differentiate_columns(statistics[buffer], sizes, scores, gradients);
    dv.add(scores, queries.second, width);
    dk.add(gradients, queries.first, width);
  }
  const auto scale = static_cast<float>(sizes.scale);
  dk.store({scale, scale}, args.dk.at(tile.b, tile.kv_head), args.dk.position, tile.first,
           sizes.keys, width);
  dv.store({1, 1}, args.dv.at(tile.b, tile.kv_head), args.dv.position, tile.first, sizes.keys,
           width);
}

template <int kWidth>
cudaError_t launch_backward(const AttentionBackward<Bf16>& args, const AttentionSizes& sizes,
                            cudaStream_t stream) {
  const auto tiles = [](std::int64_t positions) { return (positions + kMmaTile - 1) / kMmaTile; };
  const auto error =
      launch_tiles(query_gradient_kernel<kWidth>, sizes.batch * sizes.heads * tiles(sizes.queries),
                   kMmaThreads, kBackwardBytes<kWidth>, stream, args, sizes);
  if (error != cudaSuccess) return error;
  return launch_tiles(key_gradient_kernel<kWidth>, sizes.batch * sizes.kv_heads * tiles(sizes.keys),
                      kMmaThreads, kBackwardBytes<kWidth>, stream, args, sizes);
}

}  // namespace

bool takes_backward_mma(std::int64_t width) {
  if (width > kMaxMmaWidth) return false;
  return with_mma_width(width, [&](auto least) {
           const bool fits = fits_in_block(kBackwardBytes<decltype(least)::value>);
           return fits ? cudaSuccess : cudaErrorInvalidConfiguration;
         }) == cudaSuccess;
}

cudaError_t causal_attention_backward_mma(const AttentionBackward<Bf16>& args,
                                          const AttentionSizes& sizes, cudaStream_t stream) {
  return with_mma_width(sizes.width, [&](auto width) {
    return launch_backward<decltype(width)::value>(args, sizes, stream);
  });
}

}  // namespace evenkeel::kernels::cuda
