// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/layer_norm.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_factor.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <typename F>
__device__ double value_or(const F* values, std::int64_t i, double otherwise) {
  return values == nullptr ? otherwise : load(values + i);
}

/// Rows that no tile holds: one block a row, in double.
template <typename T>
__global__ void forward_kernel(LayerNormRows<T> args, std::int64_t width, double epsilon) {
  const std::int64_t offset = blockIdx.x * width;
  const T* const x = args.x + offset;
  const auto features = static_cast<double>(width);
  const double scale = row_scale(x, width, epsilon);
  const auto scaled = [=](std::int64_t i) { return load(x + i) * scale; };

  double mean = sum_over(width, scaled) / features;
  if constexpr (std::is_same_v<T, double>) {
    // The sum of equal doubles is not exact, as that of floats is: take up what was rounded off.
    mean += sum_over(width, [=](std::int64_t i) { return scaled(i) - mean; }) / features;
  }
  const double squares = sum_over(width, [=](std::int64_t i) {
    const double deviation = scaled(i) - mean;
    return deviation * deviation;
  });
  const double rstd = inverse_root(squares / features + epsilon * scale * scale);
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    store(args.y + offset + i,
          (scaled(i) - mean) * rstd * value_or(args.gain, i, 1) + value_or(args.bias, i, 0));
  }
  if (threadIdx.x == 0) {
    args.mean[blockIdx.x] = mean / scale;
    args.rstd[blockIdx.x] = rstd * scale;
  }
}

template <typename T>
__global__ void backward_kernel(LayerNormGradientRows<T> args, std::int64_t width) {
  const std::int64_t offset = blockIdx.x * width;
  const auto features = static_cast<double>(width);
  const double mean = args.mean[blockIdx.x];
  const double rstd = args.rstd[blockIdx.x];
  const auto x_hat = [=](std::int64_t i) { return (load(args.x + offset + i) - mean) * rstd; };
  const auto g = [=](std::int64_t i) {
    return load(args.dy + offset + i) * value_or(args.gain, i, 1);
  };

  const double mean_g = sum_over(width, g) / features;
  const double slope = sum_over(width, [=](std::int64_t i) { return g(i) * x_hat(i); }) / features;
  for (std::int64_t i = threadIdx.x; i < width; i += kThreads) {
    store(args.dx + offset + i, rstd * (g(i) - mean_g - x_hat(i) * slope));
  }
}

/// Threads of the forward pass that a multiprocessor holds, for 80 or 128 registers a thread.
template <typename T>
constexpr int kForwardThreads = sizeof(T) == 2 ? 768 : 512;

template <typename T, int kPacks>
__global__ void __launch_bounds__(kForwardThreads<T>)
    forward_tile_kernel(LayerNormRows<T> args, TileGrid grid, double epsilon) {
  extern __shared__ float4 tile_memory[];
  __shared__ TileReduction<double, 1>::Shared shared_sum;
  __shared__ TileReduction<double, 2>::Shared shared_squares;
  TileReduction<double, 1> reduce_sum{shared_sum};
  TileReduction<double, 2> reduce_squares{shared_squares};
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid);
  const double per_column = 1 / static_cast<double>(grid.width);
  Tile<T, kPacks> x, next;
  next.load(args.x, first_row(grid) + thread.group, grid.rows, thread);
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  const auto bias = SharedVector<T, kPacks>::of(
      tile_memory + kPacks * kPack<T> / 4 * grid.row_threads, args.bias, 0, thread);
  __syncthreads();
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    x = next;
    next.load(args.x, row + step, grid.rows, thread);
    double sum[1] = {row_sum(x, thread.held)};
    reduce_sum(sum, thread);
    const auto near = static_cast<float>(sum[0] * per_column);
    double moments[2];
    row_deviations(x, near, thread.held, smallest_square_sum(epsilon), moments);
    x.forget();
    reduce_squares(moments, thread);
    const auto statistic =
        CentredRow::of(near, moments[0] * per_column, moments[1] * per_column, epsilon);
    x.assign([&](int p, int i) {
      return fmaf(statistic.centred(x.at(p, i)) * statistic.r, gain.at(p, i), bias.at(p, i));
    });
    x.store(args.y, row, grid.rows, thread);
    if (thread.lane == 0 && row < grid.rows) {
      args.mean[row] = statistic.mean;
      args.rstd[row] = statistic.rstd;
    }
  }
}

/// What the backward pass reads of a row.
template <typename T, int kPacks>
struct BackwardRow {
  static constexpr bool kIsAhead = sizeof(T) == 2;  // otherwise there are not enough registers
  Tile<T, kPacks> dy, x;
  double mean, rstd;

  __device__ void load(const LayerNormGradientRows<T>& args, std::int64_t row, const TileGrid& grid,
                       const TileThread& thread) {
    dy.load(args.dy, row, grid.rows, thread);
    x.load(args.x, row, grid.rows, thread);
    mean = row < grid.rows ? args.mean[row] : 0;
    rstd = row < grid.rows ? args.rstd[row] : 0;
  }
};

template <typename T, int kPacks>
__global__ void __launch_bounds__(kBackwardThreads<T>)
    backward_tile_kernel(LayerNormGradientRows<T> args, TileGrid grid) {
  extern __shared__ float4 tile_memory[];
  __shared__ TileReduction<float, 2>::Shared shared;
  TileReduction<float, 2> reduce{shared};
  const auto thread = TileThread::of<T, kPacks>(grid);
  const auto step = row_step(grid);
  const float per_column = 1 / static_cast<float>(grid.width);
  TileSums<T, kPacks> dgain, dbias;
  dgain.clear();
  dbias.clear();
  BackwardRow<T, kPacks> now, next;
  if (next.kIsAhead) next.load(args, first_row(grid) + thread.group, grid, thread);
  const auto gain = SharedVector<T, kPacks>::of(tile_memory, args.gain, 1, thread);
  __syncthreads();
  for (auto base = first_row(grid); base < grid.rows; base += step) {
    const auto row = base + thread.group;
    if (next.kIsAhead) now = next;
    (next.kIsAhead ? next : now).load(args, next.kIsAhead ? row + step : row, grid, thread);
    const auto statistic = CentredRow::of(now.mean, now.rstd);
    float sums[2] = {0, 0};  // of g, and of g * x_hat
    for_each_held_value<T, kPacks>(thread.held, [&](int p, int i) {
      const float dy = now.dy.at(p, i), centred = statistic.centred(now.x.at(p, i));
      dgain.value[p][i] = fmaf(dy * statistic.r, centred, dgain.value[p][i]);
      dbias.value[p][i] += dy;
      sums[0] = fmaf(dy, gain.at(p, i), sums[0]);
      sums[1] = fmaf(dy * gain.at(p, i), centred * statistic.r, sums[1]);
    });
    now.dy.forget();
    now.x.forget();
    reduce(sums, thread);
    const float mean_g = sums[0] * per_column, slope = sums[1] * per_column;
    now.dy.assign([&](int p, int i) {
      const float x_hat = statistic.centred(now.x.at(p, i)) * statistic.r;
      const float g = now.dy.at(p, i) * gain.at(p, i);
      return (g - mean_g - x_hat * slope) * statistic.r * statistic.scale;
    });
    now.dy.store(args.dx, row, grid.rows, thread);
  }
  store_block_sums(dgain, tile_memory, args.partials.dgain, thread, grid);
  store_block_sums(dbias, tile_memory, args.partials.dbias, thread, grid);
}

}  // namespace

template <typename T>
cudaError_t layer_norm_forward(const LayerNormRows<T>& args, std::int64_t rows, std::int64_t width,
                               double epsilon, cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    if (grid.row_threads != 0 && are_aligned(args.x, args.y)) {
      const auto blocks = tile_blocks(grid, kForwardThreads<T>);
      return launch_tiles<T>(forward_tile_kernel<T, 1>, forward_tile_kernel<T, kTilePacks<T>>, grid,
                             blocks, 2, stream, args, grid, epsilon);
    }
  }
  return launch_rows(forward_kernel<T>, rows, stream, args, width, epsilon);
}

template <typename T>
cudaError_t layer_norm_backward(const LayerNormGradientRows<T>& args, std::int64_t rows,
                                std::int64_t width, cudaStream_t stream) {
  const TileGrid grid = tile_grid<T>(rows, width);
  if constexpr (!std::is_same_v<T, double>) {
    if (grid.row_threads != 0 && are_aligned(args.dy, args.x, args.dx)) {
      return launch_tiles<T>(backward_tile_kernel<T, 1>, backward_tile_kernel<T, kTilePacks<T>>,
                             grid, args.partials.count, 1, stream, args, grid);
    }
  }
  const auto error = launch_rows(backward_kernel<T>, rows, stream, args, width);
  if (error != cudaSuccess) return error;
  return row_gradient_by_column<T>({args.dy, args.x, args.mean, args.rstd}, args.partials, rows,
                                   width, stream);
}

#define EK_INSTANTIATE(T)                                                                      \
  template cudaError_t layer_norm_forward(const LayerNormRows<T>&, std::int64_t, std::int64_t, \
                                          double, cudaStream_t);                               \
  template cudaError_t layer_norm_backward(const LayerNormGradientRows<T>&, std::int64_t,      \
                                           std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
