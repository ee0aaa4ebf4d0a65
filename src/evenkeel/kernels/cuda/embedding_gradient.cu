// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/embedding_gradient.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// The first place in [begin, end) whose id is not below `least`.
__device__ std::int64_t lower_bound_of(const std::int64_t* id, std::int64_t begin, std::int64_t end,
                                       std::int64_t least) {
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (id[middle] < least) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

template <int kCount, typename F>
__device__ void add_to(RowVector<F, kCount>& sum, const RowVector<F, kCount>& term) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) sum[k] += term[k];
}

template <int kCount, typename F, typename To>
__device__ void add_to_gradient(To* to, const RowVector<F, kCount>& sum) {
  auto total = load_row<kCount>(to);
  add_to(total, sum);
  store_row<kCount>(to, total);
}

/// The place, from `first`, of the first piece of a tile whose first id began before it.
/// \param ids  from place `first` on, `count` of them
__device__ std::int64_t first_piece(const std::int64_t* id, std::int64_t first,
                                    const std::int64_t* ids, std::int64_t count) {
  const std::int64_t start = lower_bound_of(id, 0, first, ids[0]);
  const std::int64_t place =
      (kEmbeddingPiece - (first - start) % kEmbeddingPiece) % kEmbeddingPiece;
  for (std::int64_t i = 0; i < place; ++i) {
    if (i >= count || ids[i] != ids[0]) return i;
  }
  return place;
}

/// Tile t sums the pieces that begin in it. A tile has at most two pieces of ids that have more
/// than one: one of an id that began before it, [2 t], and the first of an id, [2 t + 1].
template <int kCount, typename T, typename To>
__global__ void embedding_pieces_kernel(EmbeddingGradientRows<T, To> args) {
  using F = OpMathType<T>;
  constexpr std::int64_t kReach = 2 * kEmbeddingPiece;
  __shared__ std::int64_t ids[kReach + 1], places[kReach];
  const auto [tile, column] = row_place<kCount>(args.width);
  const std::int64_t first = tile * kEmbeddingPiece;
  const std::int64_t here = min(kReach, args.count - first);
  for (std::int64_t i = threadIdx.x; i < here; i += blockDim.x) {
    ids[i] = args.id[first + i];
    places[i] = args.place[first + i];
  }
  __syncthreads();
  if (column >= args.width) return;

  const bool is_continued = first > 0 && args.id[first - 1] == ids[0];
  std::int64_t begin = is_continued ? first_piece(args.id, first, ids, here) : 0;
  while (begin < min(here, kEmbeddingPiece)) {
    const std::int64_t id = ids[begin];
    std::int64_t end = begin + 1;
    while (end < min(here, begin + kEmbeddingPiece) && ids[end] == id) ++end;
    RowVector<F, kCount> sum = {};
#pragma unroll 4
    for (std::int64_t i = begin; i < end; ++i) {
      add_to(sum, load_row<kCount>(args.dy + places[i] * args.width + column));
    }
    const bool is_first = begin > 0 ? ids[begin - 1] != id : !is_continued;
    const bool is_last = end == here ? true : ids[end] != id;
    if (!is_first || !is_last) {
      const std::int64_t slot = 2 * tile + (is_first ? 1 : 0);
      store_row<kCount>(static_cast<F*>(args.pieces) + slot * args.width + column, sum);
    } else if (id >= 0 && id < args.rows) {
      add_to_gradient(args.gradient + id * args.width + column, sum);
    }
    begin = end;
  }
}

/// The tile in which an id with more than one piece begins adds up its pieces. At most one does.
template <int kCount, typename T, typename To>
__global__ void embedding_sums_kernel(EmbeddingGradientRows<T, To> args) {
  using F = OpMathType<T>;
  __shared__ std::int64_t found;
  const auto [tile, column] = row_place<kCount>(args.width);
  const std::int64_t first = tile * kEmbeddingPiece;
  if (threadIdx.x == 0) found = -1;
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < kEmbeddingPiece; i += blockDim.x) {
    const std::int64_t at = first + i;
    if (at + kEmbeddingPiece >= args.count) continue;
    const std::int64_t id = args.id[at];
    if (args.id[at + kEmbeddingPiece] != id || (at > 0 && args.id[at - 1] == id)) continue;
    if (id >= 0 && id < args.rows) found = at;
  }
  __syncthreads();
  if (found < 0 || column >= args.width) return;

  const std::int64_t id = args.id[found];
  const std::int64_t end = lower_bound_of(args.id, found, args.count, id + 1);
  const F* const pieces = static_cast<const F*>(args.pieces) + column;
  auto sum = load_row<kCount>(pieces + (2 * tile + 1) * args.width);
  const std::int64_t others = (end - found - 1) / kEmbeddingPiece;
#pragma unroll 8
  for (std::int64_t i = 1; i <= others; ++i) {
    add_to(sum, load_row<kCount>(pieces + 2 * (tile + i) * args.width));
  }
  add_to_gradient(args.gradient + id * args.width + column, sum);
}

template <int kCount, typename T, typename To>
cudaError_t launch_embedding_gradient(const EmbeddingGradientRows<T, To>& args,
                                      cudaStream_t stream) {
  const auto [threads, parts] = row_parts(args.width, kCount);
  const auto blocks = blocks_of(args.count, kEmbeddingPiece) * parts;
  const auto launch = [&](void (*kernel)(EmbeddingGradientRows<T, To>)) {
    return launch_blocks(kernel, blocks, threads, 0, stream, args);
  };
  const auto error = launch(embedding_pieces_kernel<kCount, T, To>);
  return error != cudaSuccess ? error : launch(embedding_sums_kernel<kCount, T, To>);
}

}  // namespace

template <typename T>
std::int64_t embedding_gradient_scratch(std::int64_t count, std::int64_t width) {
  return 2 * blocks_of(count, kEmbeddingPiece) * width *
         static_cast<std::int64_t>(sizeof(OpMathType<T>));
}

template <typename T, typename To>
cudaError_t add_embedding_gradient(const EmbeddingGradientRows<T, To>& args, cudaStream_t stream) {
  if (args.count == 0 || args.width == 0) return cudaSuccess;
  const bool vectors =
      takes_vectors<T>(args.width, args.dy, args.gradient, static_cast<char*>(args.pieces));
  return with_vectors<T>(
      vectors, [&](auto count) { return launch_embedding_gradient<count>(args, stream); });
}

#define EK_INSTANTIATE(T, To) \
  template cudaError_t add_embedding_gradient(const EmbeddingGradientRows<T, To>&, cudaStream_t);
EK_INSTANTIATE(double, double)
EK_INSTANTIATE(float, float)
EK_INSTANTIATE(__nv_bfloat16, __nv_bfloat16)
EK_INSTANTIATE(__nv_bfloat16, float)
#undef EK_INSTANTIATE
template std::int64_t embedding_gradient_scratch<double>(std::int64_t, std::int64_t);
template std::int64_t embedding_gradient_scratch<float>(std::int64_t, std::int64_t);
template std::int64_t embedding_gradient_scratch<__nv_bfloat16>(std::int64_t, std::int64_t);

}  // namespace evenkeel::kernels::cuda
