// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/rms_norm.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_factor.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// Rows that no tile holds: one block a row, in double.
template <typename T>
__global__ void forward_kernel(RmsNormRows<T> args, std::int64_t width, double epsilon) {
  const std::int64_t offset = blockIdx.x * width;
  const T* x = args.x + offset;
  if (args.branch != nullptr) {
    T* const sum = args.sum + offset;
    for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
      store(sum + i, load(x + i) + load(args.branch + offset + i));
    }
    x = sum;  // below, each thread reads only what it wrote itself
  }

  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };
  const double squares = sum_over(width, [=](std::int64_t i) { return scaled(i) * scaled(i); });
  const double rstd = inverse_root(squares / static_cast<double>(width) + epsilon * scale * scale);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const double gain = args.gain == nullptr ? 1 : load(args.gain + i);
    store(args.y + offset + i, scaled(i) * rstd * gain);
  }
  if (threadIdx.x == 0) args.rstd[blockIdx.x] = rstd * scale;
}

template <typename T>
__global__ void backward_kernel(RmsNormGradientRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  const double rstd = args.rstd[blockIdx.x];
  const auto x_hat = [=](std::int64_t i) { return load(args.x + offset + i) * rstd; };
  const auto g = [=](std::int64_t i) {
    return load(args.dy + offset + i) * (args.gain == nullptr ? 1 : load(args.gain + i));
  };

  const double dot = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); });
  const double mean = dot / static_cast<double>(width);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    const double skip = args.skip == nullptr ? 0 : load(args.skip + offset + i);
    store(args.dx + offset + i, skip + rstd * (g(i) - x_hat(i) * mean));
  }
}

/// Threads of the forward pass that a multiprocessor holds, for 64, 80 or 128 registers a thread.
template <typename T, bool kHasBranch>
constexpr int kForwardThreads = sizeof(T) == 2 ? 1024
                                : kHasBranch   ? 512
                                               : 768;

template <typename T, int kPacks, bool kHasBranch>
__global__ void __launch_bounds__(kForwardThreads<T, kHasBranch>)
    forward_tile_kernel(RmsNormRows<T> args, TileGrid grid, double epsilon) {
  extern __shared__ float4 tile_memory[];
  __shared__ TileReduction<double, 1>::Shared shared;
  TileReduction<double, 1> reduce{shared};
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid), first = first_row(grid) + thread.group;
  const float least = smallest_square_sum(epsilon);
  const double per_column = 1 / static_cast<double>(grid.width);
  Tile<T, kPacks> x, next, branch;
  next.load(args.x, first, grid.rows, thread);
  if constexpr (kHasBranch) branch.load(args.branch, first, grid.rows, thread);
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  __syncthreads();
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    x = next;
    if constexpr (kHasBranch) {
      x.assign([&](int p, int i) { return next.at(p, i) + branch.at(p, i); });
      x.store(args.sum, row, grid.rows, thread);
      branch.load(args.branch, row + step, grid.rows, thread);
    }
    next.load(args.x, row + step, grid.rows, thread);
    double squares[1] = {scaled_squares(least, [&](float scale) {
      float sum = 0;
      for_each_value<T, kPacks>([&](int p, int i) {
        const float scaled = x.at(p, i) * scale;
        sum = fmaf(scaled, scaled, sum);
      });
      return sum;
    })};
    x.forget();
    reduce(squares, thread);
    const double rstd = tile_rstd(squares[0] * per_column + epsilon);
    const auto factor = RowFactor::of(rstd);
    x.assign([&](int p, int i) { return x.at(p, i) * factor.scale * factor.r * gain.at(p, i); });
    x.store(args.y, row, grid.rows, thread);
    if (thread.lane == 0 && row < grid.rows) args.rstd[row] = rstd;
  }
}

/// What the backward pass reads of a row. The residual's gradient comes ahead where registers
/// allow.
template <typename T, int kPacks>
struct BackwardRow {
  static constexpr bool kIsSkipAhead = sizeof(T) == 2;
  Tile<T, kPacks> dy, x, skip;
  double rstd;

  __device__ void load_skip(const RmsNormGradientRows<T>& args, std::int64_t row,
                            const TileGrid& grid, const TileThread& thread) {
    if (args.skip != nullptr) skip.load(args.skip, row, grid.rows, thread);
  }
  __device__ void load(const RmsNormGradientRows<T>& args, std::int64_t row, const TileGrid& grid,
                       const TileThread& thread) {
    dy.load(args.dy, row, grid.rows, thread);
    x.load(args.x, row, grid.rows, thread);
    rstd = row < grid.rows ? args.rstd[row] : 0;
    if (kIsSkipAhead) load_skip(args, row, grid, thread);
  }
};

template <typename T, int kPacks>
__global__ void __launch_bounds__(kBackwardThreads<T>)
    backward_tile_kernel(RmsNormGradientRows<T> args, TileGrid grid) {
  extern __shared__ float4 tile_memory[];
  __shared__ TileReduction<float, 1>::Shared shared;
  TileReduction<float, 1> reduce{shared};
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid);
  const float per_column = 1 / static_cast<float>(grid.width);
  TileSums<T, kPacks> dgain;
  dgain.clear();
  BackwardRow<T, kPacks> now, next;
  next.load(args, first_row(grid) + thread.group, grid, thread);
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  __syncthreads();
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    now = next;
    next.load(args, row + step, grid, thread);
    if (!now.kIsSkipAhead) now.load_skip(args, row, grid, thread);
    const auto [scale, r] = RowFactor::of(now.rstd);
    float dot[1] = {0};
    for_each_value<T, kPacks>([&](int p, int i) {
      const float scaled = now.x.at(p, i) * scale, upstream = now.dy.at(p, i);
      dgain.value[p][i] = fmaf(upstream * r, scaled, dgain.value[p][i]);
      dot[0] = fmaf(upstream * gain.at(p, i), scaled * r, dot[0]);
    });
    now.dy.forget();
    now.x.forget();
    reduce(dot, thread);
    const float mean = dot[0] * per_column;
    now.dy.assign([&](int p, int i) {
      const float x_hat = now.x.at(p, i) * scale * r;
      const float dx = (now.dy.at(p, i) * gain.at(p, i) - x_hat * mean) * r * scale;
      return args.skip == nullptr ? dx : now.skip.at(p, i) + dx;
    });
    now.dy.store(args.dx, row, grid.rows, thread);
  }
  store_block_sums(dgain, tile_memory, args.partials.dgain, thread, grid);
}

}  // namespace

template <typename T>
cudaError_t rms_norm_forward(const RmsNormRows<T>& args, std::int64_t rows, std::int64_t width,
                             double epsilon, cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    constexpr int kWide = kTilePacks<T>;
    const bool is_held =
        grid.row_threads != 0 && are_aligned(args.x, args.branch, args.sum, args.y);
    if (is_held && args.branch == nullptr) {
      const auto blocks = tile_blocks(grid, kForwardThreads<T, false>);
      return launch_tiles<T>(forward_tile_kernel<T, 1, false>, forward_tile_kernel<T, kWide, false>,
                             grid, blocks, 1, stream, args, grid, epsilon);
    }
    if (is_held) {
      const auto blocks = tile_blocks(grid, kForwardThreads<T, true>);
      return launch_tiles<T>(forward_tile_kernel<T, 1, true>, forward_tile_kernel<T, kWide, true>,
                             grid, blocks, 1, stream, args, grid, epsilon);
    }
  }
  return launch_rows(forward_kernel<T>, rows, stream, args, width, epsilon);
}

template <typename T>
cudaError_t rms_norm_backward(const RmsNormGradientRows<T>& args, std::int64_t rows,
                              std::int64_t width, cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    if (grid.row_threads != 0 && are_aligned(args.dy, args.skip, args.x, args.dx)) {
      return launch_tiles<T>(backward_tile_kernel<T, 1>, backward_tile_kernel<T, kTilePacks<T>>,
                             grid, args.partials.count, 1, stream, args, grid);
    }
  }
  const auto error = launch_rows(backward_kernel<T>, rows, stream, args, width);
  if (error != cudaSuccess) return error;
  return row_gradient_by_column<T>({args.dy, args.x, nullptr, args.rstd}, args.partials, rows,
                                   width, stream);
}

#define EK_INSTANTIATE(T)                                                                          \
  template cudaError_t rms_norm_forward(const RmsNormRows<T>&, std::int64_t, std::int64_t, double, \
                                        cudaStream_t);                                             \
  template cudaError_t rms_norm_backward(const RmsNormGradientRows<T>&, std::int64_t,              \
                                         std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
