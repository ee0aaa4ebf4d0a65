// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/kernels/cuda/causal_attention_gradient.cuh"
#include "evenkeel/kernels/cuda/causal_attention_mma.cuh"
#include "evenkeel/kernels/cuda/causal_attention_tile.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// The positions of a tile. Four tiles of rows and two of scores fit into 163 KiB of shared memory.
template <typename F, int kWidth>
constexpr int kBackwardTile =
    sizeof(F) == sizeof(double) ? (kWidth == 256 ? 16 : 32) : (kWidth == 64 ? 64 : 32);
/// Likewise for 99 KiB; doubles of wide heads do not fit.
template <typename F, int kWidth>
constexpr int kSmallBackwardTile =
    sizeof(F) == sizeof(double) ? (kWidth == 64 ? 32 : 16) : (kWidth == 256 ? 16 : 32);

constexpr int kWarp = 32, kDeltaWarps = 8;

/// delta = the sum of dy * y of a query: one warp a row.
template <typename T>
__global__ void delta_kernel(AttentionBackward<T> args, AttentionSizes sizes) {
  using F = OpMathType<T>;
  const auto row = blockIdx.x * std::int64_t{kDeltaWarps} + threadIdx.x / kWarp;
  if (row >= sizes.batch * sizes.heads * sizes.queries) return;
  const auto query = row % sizes.queries, head = row / sizes.queries;
  const auto b = head / sizes.heads, h = head % sizes.heads;
  const T* const y = args.y.at(b, h) + query * args.y.position;
  const T* const dy = args.dy.at(b, h) + query * args.dy.position;
  F sum = 0;
  for (auto d = static_cast<int>(threadIdx.x) % kWarp; d < sizes.width; d += kWarp)
    sum += opmath(dy[d]) * opmath(y[d]);
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
  if (threadIdx.x % kWarp == 0) args.delta[row] = sum;
}

/// Tiles of the backward pass in shared memory.
template <typename Shape, typename F>
struct BackwardTiles {
  F *queries, *upstream;  // q times the scale, and dy
  F *keys, *values;
  F *weights, *slopes;  // of scores

  static constexpr std::size_t kBytes = sizeof(F) * (4 * Shape::kRowsSize + 2 * Shape::kScoresSize);

  __device__ explicit BackwardTiles(F* memory)
      : queries(memory),
        upstream(queries + Shape::kRowsSize),
        keys(upstream + Shape::kRowsSize),
        values(keys + Shape::kRowsSize),
        weights(values + Shape::kRowsSize),
        slopes(weights + Shape::kScoresSize) {}

  template <typename T>
  __device__ void load_queries(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                               std::int64_t b, std::int64_t h, std::int64_t first) const {
    const int width = static_cast<int>(sizes.width);
    load_rows<Shape>(args.q.at(b, h), args.q.position, first, sizes.queries, width,
                     static_cast<F>(sizes.scale), queries);
    load_rows<Shape>(args.dy.at(b, h), args.dy.position, first, sizes.queries, width, F(1),
                     upstream);
  }
  template <typename T>
  __device__ void load_keys(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                            std::int64_t b, std::int64_t kv_head, std::int64_t first) const {
    const int width = static_cast<int>(sizes.width);
    load_rows<Shape>(args.k.at(b, kv_head), args.k.position, first, sizes.keys, width, F(1), keys);
    load_rows<Shape>(args.v.at(b, kv_head), args.v.position, first, sizes.keys, width, F(1),
                     values);
  }
};

/// Stores the rows of a thread at the positions [first, end) of a head.
template <typename Shape, typename F, typename T>
__device__ void store_rows(const OwnRows<Shape, F>& rows, F factor, T* head, std::int64_t stride,
                           std::int64_t first, std::int64_t end, std::int64_t width) {
#pragma unroll
  for (int i = 0; i < Shape::kOwn; ++i) {
    const auto position = first + thread_row() + i * kSide;
    if (position < end) rows.store(i, factor, head + position * stride, static_cast<int>(width));
  }
}

/// Stores the slopes of a tile; rows are queries.
template <typename Shape, typename F>
__device__ void store_slopes(const BackwardTiles<Shape, F>& tiles,
                             const ColumnRange (&range)[Shape::kOwn], const F (&lse)[Shape::kOwn],
                             const F (&delta)[Shape::kOwn], F softcap,
                             const F (&scores)[Shape::kOwn][Shape::kOwn],
                             const F (&gradients)[Shape::kOwn][Shape::kOwn]) {
#pragma unroll
  for (int i = 0; i < Shape::kOwn; ++i) {
    F* const row = tiles.slopes + (thread_row() + i * kSide) * Shape::kScoreStride;
#pragma unroll
    for (int j = 0; j < Shape::kOwn; ++j) {
      const int column = thread_column() + j * kSide;
      row[column] = WeightSlope<F>(range[i].has(column), scores[i][j], gradients[i][j], lse[i],
                                   delta[i], softcap)
                        .slope;
    }
  }
}

/// dq of a tile of queries: sums over its keys.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kTileThreads)
    query_gradient_kernel(AttentionBackward<T> args, AttentionSizes sizes) {
  using F = OpMathType<T>;
  extern __shared__ __align__(16) unsigned char query_memory[];
  const BackwardTiles<Shape, F> tiles(reinterpret_cast<F*>(query_memory));
  const QueryTile tile(sizes, args.document_starts, Shape::kPositions);
  const int width = static_cast<int>(sizes.width);
  clear_padding<Shape>(tiles.queries, 4 * Shape::kPositions, width);
  tiles.load_queries(args, sizes, tile.b, tile.h, tile.first);
  F lse[Shape::kOwn], delta[Shape::kOwn];
#pragma unroll
  for (int i = 0; i < Shape::kOwn; ++i) {
    const auto query = tile.first + thread_row() + i * kSide;
    lse[i] = query < sizes.queries ? args.lse[tile.offset + query] : F(0);
    delta[i] = query < sizes.queries ? args.delta[tile.offset + query] : F(0);
  }
  OwnRows<Shape, F> dq;
  dq.clear();
  for (auto k0 = tile.begin; k0 < tile.end; k0 += Shape::kPositions) {
    __syncthreads();  // the keys of the last tile may still be read
    tiles.load_keys(args, sizes, tile.b, tile.kv_head, k0);
    __syncthreads();
    ColumnRange range[Shape::kOwn];
    F scores[Shape::kOwn][Shape::kOwn], gradients[Shape::kOwn][Shape::kOwn];
    multiply_rows<Shape>(tiles.queries, tiles.keys, width, scores);
    multiply_rows<Shape>(tiles.upstream, tiles.values, width, gradients);
    find_ranges<Shape>(tile, sizes, k0, range);
    store_slopes(tiles, range, lse, delta, static_cast<F>(sizes.softcap), scores, gradients);
    __syncwarp();  // a row of slopes belongs to one warp
    add_product<Shape>(tiles.slopes, tiles.keys, range, dq);
  }
  store_rows(dq, static_cast<F>(sizes.scale), args.dq.at(tile.b, tile.h), args.dq.position,
             tile.first, sizes.queries, sizes.width);
}

/// Adds a tile of queries to dk and dv; rows of scores are keys.
template <typename Shape, typename F>
__device__ void add_queries(const BackwardTiles<Shape, F>& tiles,
                            const QueryStatistics<F, Shape::kPositions>& statistics, int width,
                            F softcap, OwnRows<Shape, F>& dk, OwnRows<Shape, F>& dv) {
  F scores[Shape::kOwn][Shape::kOwn], gradients[Shape::kOwn][Shape::kOwn];
  multiply_rows<Shape>(tiles.keys, tiles.queries, width, scores);
  multiply_rows<Shape>(tiles.values, tiles.upstream, width, gradients);
  ColumnRange all[Shape::kOwn];
#pragma unroll
  for (int i = 0; i < Shape::kOwn; ++i) {
    const int key = thread_row() + i * kSide;
    all[i] = {0, Shape::kPositions};
#pragma unroll
    for (int j = 0; j < Shape::kOwn; ++j) {
      const int query = thread_column() + j * kSide;
      const WeightSlope<F> one(statistics.keys[query].has(key), scores[i][j], gradients[i][j],
                               statistics.lse[query], statistics.delta[query], softcap);
      tiles.weights[key * Shape::kScoreStride + query] = one.weight;
      tiles.slopes[key * Shape::kScoreStride + query] = one.slope;
    }
  }
  __syncwarp();  // a row of weights and slopes belongs to one warp
  add_product<Shape>(tiles.weights, tiles.upstream, all, dv);
  add_product<Shape>(tiles.slopes, tiles.queries, all, dk);
}

/// dk and dv of a tile of keys: sums over the queries of all its query heads.
template <typename T, typename Shape>
__global__ void __launch_bounds__(kTileThreads)
    key_gradient_kernel(AttentionBackward<T> args, AttentionSizes sizes) {
  using F = OpMathType<T>;
  extern __shared__ __align__(16) unsigned char key_memory[];
  __shared__ QueryStatistics<F, Shape::kPositions> statistics;
  const BackwardTiles<Shape, F> tiles(reinterpret_cast<F*>(key_memory));
  const KeyTile tile(sizes, args.document_starts, Shape::kPositions);
  clear_padding<Shape>(tiles.queries, 4 * Shape::kPositions, static_cast<int>(sizes.width));
  tiles.load_keys(args, sizes, tile.b, tile.kv_head, tile.first);
  OwnRows<Shape, F> dk, dv;
  dk.clear();
  dv.clear();
  const auto group = sizes.heads / sizes.kv_heads;
  for (auto h = tile.kv_head * group; h < (tile.kv_head + 1) * group; ++h) {
    for (auto q0 = tile.begin; q0 < tile.end; q0 += Shape::kPositions) {
      __syncthreads();  // the queries of the last tile may still be read
      tiles.load_queries(args, sizes, tile.b, h, q0);
      statistics.load(args, sizes, tile, h, q0);
      __syncthreads();
      add_queries(tiles, statistics, static_cast<int>(sizes.width), static_cast<F>(sizes.softcap),
                  dk, dv);
    }
  }
  store_rows(dk, F(1), args.dk.at(tile.b, tile.kv_head), args.dk.position, tile.first, sizes.keys,
             sizes.width);
  store_rows(dv, F(1), args.dv.at(tile.b, tile.kv_head), args.dv.position, tile.first, sizes.keys,
             sizes.width);
}

template <typename T, typename Shape>
cudaError_t launch_backward(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                            cudaStream_t stream) {
  constexpr auto kBytes = BackwardTiles<Shape, OpMathType<T>>::kBytes;
  const auto tiles = [](std::int64_t positions) {
    return (positions + Shape::kPositions - 1) / Shape::kPositions;
  };
  const auto error = launch_tiles(query_gradient_kernel<T, Shape>,
                                  sizes.batch * sizes.heads * tiles(sizes.queries), kTileThreads,
                                  kBytes, stream, args, sizes);
  if (error != cudaSuccess) return error;
  return launch_tiles(key_gradient_kernel<T, Shape>,
                      sizes.batch * sizes.kv_heads * tiles(sizes.keys), kTileThreads, kBytes,
                      stream, args, sizes);
}

}  // namespace

template <typename T>
cudaError_t causal_attention_backward(const AttentionBackward<T>& args, const AttentionSizes& sizes,
                                      cudaStream_t stream) {
  const auto rows = sizes.batch * sizes.heads * sizes.queries;
  if (rows * sizes.width == 0) return cudaSuccess;
  const auto error =
      launch_tiles(delta_kernel<T>, (rows + kDeltaWarps - 1) / kDeltaWarps, kDeltaWarps * kWarp,
                   /*bytes=*/0, stream, args, sizes);
  if (error != cudaSuccess) return error;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (takes_backward_mma(sizes.width)) return causal_attention_backward_mma(args, sizes, stream);
  }
  return with_width<T>(sizes.width, [&](auto least) {
    using F = OpMathType<T>;
    constexpr int kWidth = decltype(least)::value;
    using Large = TileShape<F, kWidth, kBackwardTile<F, kWidth>>;
    using Small = TileShape<F, kWidth, kSmallBackwardTile<F, kWidth>>;
    return fits_in_block(BackwardTiles<Large, F>::kBytes)
               ? launch_backward<T, Large>(args, sizes, stream)
               : launch_backward<T, Small>(args, sizes, stream);
  });
}

#define EK_INSTANTIATE(T)                                                     \
  template cudaError_t causal_attention_backward(const AttentionBackward<T>&, \
                                                 const AttentionSizes&, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
