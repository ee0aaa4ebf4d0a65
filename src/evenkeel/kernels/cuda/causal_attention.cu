// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/kernels/cuda/causal_attention_mma.cuh"
#include "evenkeel/kernels/cuda/causal_attention_tile.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// The positions of a tile; small tiles fit into 99 KiB of shared memory.
template <typename F>
constexpr int kForwardTile = sizeof(F) == sizeof(double) ? 32 : 64;
template <typename F, int kWidth>
constexpr int kSmallForwardTile = kWidth == 256 ? kForwardTile<F> / 2 : kForwardTile<F>;

template <typename Shape, typename F>
constexpr std::size_t kForwardBytes = sizeof(F) * (2 * Shape::kRowsSize + Shape::kScoresSize);

/// Calls launch(TileShape()) with the largest tiles that fit into the memory of a block.
template <typename T, typename Launch>
cudaError_t with_forward_shape(std::int64_t width, const Launch& launch) {
  using F = OpMathType<T>;
  return with_width<T>(width, [&](auto least) {
    constexpr int kWidth = decltype(least)::value;
    using Large = TileShape<F, kWidth, kForwardTile<F>>;
    using Small = TileShape<F, kWidth, kSmallForwardTile<F, kWidth>>;
    return fits_in_block(kForwardBytes<Large, F>) ? launch(Large{}) : launch(Small{});
  });
}

/// The running softmax of the rows of a thread.
template <typename Shape, typename F>
struct RunningRows {
  F largest[Shape::kOwn], total[Shape::kOwn];
  OwnRows<Shape, F> sum;  // of weight * v

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < Shape::kOwn; ++i) {
      largest[i] = -INFINITY;
      total[i] = 0;
    }
    sum.clear();
  }

  /// Stores the weights of row i, 0 outside of its range, and rescales the sums so far.
  __device__ void update(int i, F (&scores)[Shape::kOwn], const ColumnRange& range, F softcap,
                         F* weights) {
    F most = largest[i];
#pragma unroll
    for (int j = 0; j < Shape::kOwn; ++j) {
      scores[j] = capped(scores[j], softcap);
      if (range.has(thread_column() + j * kSide)) most = larger(most, scores[j]);
    }
    most = row_maximum(most);
    F more = 0;
#pragma unroll
    for (int j = 0; j < Shape::kOwn; ++j) {
      const int column = thread_column() + j * kSide;
      const F weight = range.has(column) ? exp_of(scores[j] - most) : F(0);
      weights[(thread_row() + i * kSide) * Shape::kScoreStride + column] = weight;
      more += weight;
    }
    more = row_sum(more);
    const F rescale = most > largest[i] && total[i] > 0 ? exp_of(largest[i] - most) : F(1);
    total[i] = total[i] * rescale + more;
    largest[i] = most;
    sum.scale_row(i, rescale);
  }

  /// Stores y and the log-sum-exp.
  template <typename T>
  __device__ void store(const AttentionForward<T>& args, const AttentionSizes& sizes,
                        const QueryTile& tile) const {
    T* const y = args.y.at(tile.b, tile.h);
#pragma unroll
    for (int i = 0; i < Shape::kOwn; ++i) {
      const auto query = tile.first + thread_row() + i * kSide;
      if (query >= sizes.queries) continue;
      sum.store(i, 1 / total[i], y + query * args.y.position, static_cast<int>(sizes.width));
      if (thread_column() == 0) args.lse[tile.offset + query] = largest[i] + log_of(total[i]);
    }
  }
};

template <typename T, typename Shape>
__global__ void __launch_bounds__(kTileThreads)
    forward_kernel(AttentionForward<T> args, AttentionSizes sizes) {
  using F = OpMathType<T>;
  extern __shared__ __align__(16) unsigned char forward_memory[];
  F* const queries = reinterpret_cast<F*>(forward_memory);
  F* const keys = queries + Shape::kRowsSize;  // then values
  F* const weights = keys + Shape::kRowsSize;
  const QueryTile tile(sizes, args.document_starts, Shape::kPositions);
  const int width = static_cast<int>(sizes.width);
  clear_padding<Shape>(keys, Shape::kPositions, width);
  const T* const k = args.k.at(tile.b, tile.kv_head);
  const T* const v = args.v.at(tile.b, tile.kv_head);
  load_rows<Shape>(args.q.at(tile.b, tile.h), args.q.position, tile.first, sizes.queries, width,
                   static_cast<F>(sizes.scale), queries);
  RunningRows<Shape, F> rows;
  rows.clear();
  for (auto k0 = tile.begin; k0 < tile.end; k0 += Shape::kPositions) {
    ColumnRange range[Shape::kOwn];
    F scores[Shape::kOwn][Shape::kOwn];
    find_ranges<Shape>(tile, sizes, k0, range);
    __syncthreads();  // the values of the last tile may still be read
    load_rows<Shape>(k, args.k.position, k0, sizes.keys, width, F(1), keys);
    __syncthreads();
    multiply_rows<Shape>(queries, keys, width, scores);
    __syncthreads();
    load_rows<Shape>(v, args.v.position, k0, sizes.keys, width, F(1), keys);
#pragma unroll
    for (int i = 0; i < Shape::kOwn; ++i)
      rows.update(i, scores[i], range[i], static_cast<F>(sizes.softcap), weights);
    __syncthreads();
    add_product<Shape>(weights, keys, range, rows.sum);
  }
  rows.store(args, sizes, tile);
}

/// The largest value of all threads.
template <typename F>
__device__ F block_maximum(F value) {
  __shared__ F of_thread[kTileThreads];
  of_thread[threadIdx.x] = value;
  __syncthreads();
  for (unsigned half = kTileThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      of_thread[threadIdx.x] = larger(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    __syncthreads();
  }
  return of_thread[0];
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(kTileThreads)
    largest_scores_kernel(AttentionForward<T> args, AttentionSizes sizes, OpMathType<T>* largest) {
  using F = OpMathType<T>;
  extern __shared__ __align__(16) unsigned char score_memory[];
  F* const queries = reinterpret_cast<F*>(score_memory);
  F* const keys = queries + Shape::kRowsSize;
  const QueryTile tile(sizes, args.document_starts, Shape::kPositions);
  const int width = static_cast<int>(sizes.width);
  load_rows<Shape>(args.q.at(tile.b, tile.h), args.q.position, tile.first, sizes.queries, width,
                   static_cast<F>(sizes.scale), queries);
  F most = -INFINITY;
  for (auto k0 = tile.begin; k0 < tile.end; k0 += Shape::kPositions) {
    ColumnRange range[Shape::kOwn];
    F scores[Shape::kOwn][Shape::kOwn];
    find_ranges<Shape>(tile, sizes, k0, range);
    __syncthreads();  // the keys of the last tile may still be read
    load_rows<Shape>(args.k.at(tile.b, tile.kv_head), args.k.position, k0, sizes.keys, width, F(1),
                     keys);
    __syncthreads();
    multiply_rows<Shape>(queries, keys, width, scores);
#pragma unroll
    for (int i = 0; i < Shape::kOwn * Shape::kOwn; ++i) {
      const int row = i / Shape::kOwn, column = i % Shape::kOwn;
      if (range[row].has(thread_column() + column * kSide))
        most = larger(most, scores[row][column]);
    }
  }
  most = block_maximum(most);
  const auto tiles = (sizes.queries + Shape::kPositions - 1) / Shape::kPositions;
  if (threadIdx.x == 0)
    largest[(tile.b * sizes.heads + tile.h) * tiles + tile.first / Shape::kPositions] = most;
}

template <typename Shape>
std::int64_t query_tiles(const AttentionSizes& sizes) {
  return sizes.batch * sizes.heads * ((sizes.queries + Shape::kPositions - 1) / Shape::kPositions);
}

}  // namespace

template <typename T>
cudaError_t causal_attention(const AttentionForward<T>& args, const AttentionSizes& sizes,
                             cudaStream_t stream) {
  if (sizes.batch * sizes.queries * sizes.heads * sizes.width == 0) return cudaSuccess;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (sizes.width <= kMaxMmaWidth) return causal_attention_mma(args, sizes, stream);
  }
  return with_forward_shape<T>(sizes.width, [&](auto shape) {
    using Shape = decltype(shape);
    return launch_tiles(forward_kernel<T, Shape>, query_tiles<Shape>(sizes), kTileThreads,
                        kForwardBytes<Shape, OpMathType<T>>, stream, args, sizes);
  });
}

template <typename T>
std::int64_t score_tiles(const AttentionSizes& sizes) {
  std::int64_t size = kForwardTile<OpMathType<T>>;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (sizes.width <= kMaxMmaWidth) return (sizes.queries + kMmaTile - 1) / kMmaTile;
  }
  with_forward_shape<T>(sizes.width, [&](auto shape) {
    size = decltype(shape)::kPositions;
    return cudaSuccess;
  });
  return (sizes.queries + size - 1) / size;
}

template <typename T>
cudaError_t largest_scores(const AttentionForward<T>& args, const AttentionSizes& sizes,
                           OpMathType<T>* largest, cudaStream_t stream) {
  if (sizes.batch * sizes.queries * sizes.heads * sizes.width == 0) return cudaSuccess;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    if (sizes.width <= kMaxMmaWidth) return largest_scores_mma(args, sizes, largest, stream);
  }
  return with_forward_shape<T>(sizes.width, [&](auto shape) {
    using Shape = decltype(shape);
    constexpr auto kBytes = sizeof(OpMathType<T>) * 2 * Shape::kRowsSize;
    return launch_tiles(largest_scores_kernel<T, Shape>, query_tiles<Shape>(sizes), kTileThreads,
                        kBytes, stream, args, sizes, largest);
  });
}

#define EK_INSTANTIATE(T)                                                                  \
  template cudaError_t causal_attention(const AttentionForward<T>&, const AttentionSizes&, \
                                        cudaStream_t);                                     \
  template std::int64_t score_tiles<T>(const AttentionSizes&);                             \
  template cudaError_t largest_scores(const AttentionForward<T>&, const AttentionSizes&,   \
                                      OpMathType<T>*, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
