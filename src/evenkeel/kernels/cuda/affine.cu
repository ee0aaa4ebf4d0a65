// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/affine.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// Threads of the forward pass that a multiprocessor holds, for 64 or 80 registers a thread.
template <typename T>
constexpr int kForwardThreads = sizeof(T) == 2 ? 1024 : 768;

/// Rows that no tile holds: one block a row, in double.
template <typename T>
__global__ void affine_kernel(AffineRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const double gain = args.gain == nullptr ? 1 : load(args.gain + i);
    const double bias = args.bias == nullptr ? 0 : load(args.bias + i);
    store(args.y + offset + i, load(args.x + offset + i) * gain + bias);
  }
}

template <typename T, int kPacks>
__global__ void __launch_bounds__(kForwardThreads<T>)
    forward_tile_kernel(AffineRows<T> args, TileGrid grid) {
  extern __shared__ float4 tile_memory[];
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid);
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  const auto bias = SharedVector<T, kPacks>::of(
      tile_memory + kPacks * kPack<T> / 4 * grid.row_threads, args.bias, 0, thread);
  __syncthreads();
  Tile<T, kPacks> x, next;
  next.load(args.x, first_row(grid) + thread.group, grid.rows, thread);
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    x = next;
    next.load(args.x, row + step, grid.rows, thread);
    x.assign([&](int p, int i) { return fmaf(x.at(p, i), gain.at(p, i), bias.at(p, i)); });
    x.store(args.y, row, grid.rows, thread);
  }
}

template <typename T, int kPacks>
__global__ void __launch_bounds__(kBackwardThreads<T>)
    backward_tile_kernel(AffineGradientRows<T> args, TileGrid grid) {
  extern __shared__ float4 tile_memory[];
  constexpr bool kIsAhead = sizeof(T) == 2;  // otherwise there are not enough registers
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid), first = first_row(grid) + thread.group;
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  __syncthreads();
  TileSums<T, kPacks> dgain, dbias;
  dgain.clear();
  dbias.clear();
  Tile<T, kPacks> dy, x, next_dy, next_x;
  if (kIsAhead) {
    next_dy.load(args.dy, first, grid.rows, thread);
    next_x.load(args.x, first, grid.rows, thread);
  }
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    if (kIsAhead) {
      dy = next_dy;
      x = next_x;
    }
    (kIsAhead ? next_dy : dy).load(args.dy, kIsAhead ? row + step : row, grid.rows, thread);
    (kIsAhead ? next_x : x).load(args.x, kIsAhead ? row + step : row, grid.rows, thread);
    for_each_value<T, kPacks>([&](int p, int i) {
      dgain.value[p][i] = fmaf(dy.at(p, i), x.at(p, i), dgain.value[p][i]);
      dbias.value[p][i] += dy.at(p, i);
    });
    dy.assign([&](int p, int i) { return dy.at(p, i) * gain.at(p, i); });
    dy.store(args.dx, row, grid.rows, thread);
  }
  store_block_sums(dgain, tile_memory, args.partials.dgain, thread, grid);
  store_block_sums(dbias, tile_memory, args.partials.dbias, thread, grid);
}

}  // namespace

template <typename T>
cudaError_t affine(const AffineRows<T>& args, std::int64_t rows, std::int64_t width,
                   cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    if (grid.row_threads != 0 && are_aligned(args.x, args.y)) {
      const auto blocks = tile_blocks(grid, kForwardThreads<T>);
      return launch_tiles<T>(forward_tile_kernel<T, 1>, forward_tile_kernel<T, kTilePacks<T>>, grid,
                             blocks, 2, stream, args, grid);
    }
  }
  return launch_rows(affine_kernel<T>, rows, stream, args, width);
}

template <typename T>
cudaError_t affine_backward(const AffineGradientRows<T>& args, std::int64_t rows,
                            std::int64_t width, cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    if (grid.row_threads != 0 && are_aligned(args.dy, args.x, args.dx)) {
      return launch_tiles<T>(backward_tile_kernel<T, 1>, backward_tile_kernel<T, kTilePacks<T>>,
                             grid, args.partials.count, 1, stream, args, grid);
    }
  }
  const auto error = affine<T>({args.dy, args.gain, nullptr, args.dx}, rows, width, stream);
  if (error != cudaSuccess) return error;
  return row_gradient_by_column<T>({args.dy, args.x, nullptr, nullptr}, args.partials, rows, width,
                                   stream);
}

#define EK_INSTANTIATE(T)                                                                        \
  template cudaError_t affine(const AffineRows<T>&, std::int64_t, std::int64_t, cudaStream_t);   \
  template cudaError_t affine_backward(const AffineGradientRows<T>&, std::int64_t, std::int64_t, \
                                       cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
