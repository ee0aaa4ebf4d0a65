// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/row_gradient.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr std::int64_t kMostRows =
    128;  // of a partial: float sums of so many terms are exact enough
constexpr int kTotalColumns = 32, kTotalSlices = 16;

/// Slice s of a column adds partials s, s + 16, ... in order; a binary tree adds the slices.
template <typename P, typename G>
__global__ void total_kernel(const P* partials, std::int64_t count, std::int64_t width, G* total) {
  __shared__ double sums[kTotalSlices][kTotalColumns];
  const int lane = static_cast<int>(threadIdx.x) % kTotalColumns;
  const int slice = static_cast<int>(threadIdx.x) / kTotalColumns;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTotalColumns + lane;
  double sum = 0;
  if (column < width) {
#pragma unroll 8
    for (std::int64_t k = slice; k < count; k += kTotalSlices) {
      sum += static_cast<double>(partials[k * width + column]);
    }
  }
  sums[slice][lane] = sum;
  __syncthreads();
  for (int half = kTotalSlices / 2; half > 0; half /= 2) {
    if (slice < half) sums[slice][lane] += sums[slice + half][lane];
    __syncthreads();
  }
  if (slice == 0 && column < width) total[column] = static_cast<G>(sums[0][lane]);
}

template <typename T, typename P>
__global__ void column_kernel(RowGradientRows<T> args, RowGradientPartials<P> partials,
                              std::int64_t rows, std::int64_t width) {
  const std::int64_t column = blockIdx.y * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (column >= width) return;
  double dgain = 0, dbias = 0;
  for (std::int64_t row = blockIdx.x; row < rows; row += partials.count) {
    const double dy = load(args.dy + row * width + column);
    const double mean = args.mean == nullptr ? 0 : args.mean[row];
    const double rstd = args.rstd == nullptr ? 1 : args.rstd[row];
    dgain += dy * ((load(args.x + row * width + column) - mean) * rstd);
    dbias += dy;
  }
  const std::int64_t to = blockIdx.x * width + column;
  if (partials.dgain != nullptr) partials.dgain[to] = static_cast<OpMathType<P>>(dgain);
  if (partials.dbias != nullptr) partials.dbias[to] = static_cast<OpMathType<P>>(dbias);
}

}  // namespace

template <typename T>
std::int64_t row_gradient_partials(std::int64_t rows, std::int64_t width) {
  const TileGrid grid = tile_grid<T>(rows, width);
  const int threads = grid.row_threads == 0 ? kThreads : grid.threads();
  const std::int64_t groups = grid.row_threads == 0 ? 1 : grid.groups;
  const std::int64_t resident =
      std::int64_t{multiprocessor_count()} * (kBackwardThreads<T> / threads);
  const auto waves = std::max<std::int64_t>(1, blocks_of(rows, resident * kMostRows));
  return std::min(waves * resident, blocks_of(rows, groups));
}

template <typename P, typename G>
cudaError_t row_gradient_total(const P* partials, std::int64_t count, std::int64_t width, G* total,
                               cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(blocks_of(width, kTotalColumns));
  total_kernel<P, G>
      <<<blocks, kTotalColumns * kTotalSlices, 0, stream>>>(partials, count, width, total);
  return cudaGetLastError();
}

template <typename T, typename P>
cudaError_t row_gradient_by_column(const RowGradientRows<T>& args,
                                   const RowGradientPartials<P>& partials, std::int64_t rows,
                                   std::int64_t width, cudaStream_t stream) {
  if (rows == 0 || width == 0 || (partials.dgain == nullptr && partials.dbias == nullptr)) {
    return cudaSuccess;
  }
  const dim3 blocks(static_cast<unsigned>(partials.count),
                    static_cast<unsigned>(blocks_of(width, kThreads)));
  column_kernel<T, P><<<blocks, kThreads, 0, stream>>>(args, partials, rows, width);
  return cudaGetLastError();
}

template std::int64_t row_gradient_partials<double>(std::int64_t, std::int64_t);
template std::int64_t row_gradient_partials<float>(std::int64_t, std::int64_t);
template std::int64_t row_gradient_partials<__nv_bfloat16>(std::int64_t, std::int64_t);

#define EK_INSTANTIATE(T, P)                                                               \
  template cudaError_t row_gradient_by_column(const RowGradientRows<T>&,                   \
                                              const RowGradientPartials<P>&, std::int64_t, \
                                              std::int64_t, cudaStream_t);
EK_INSTANTIATE(double, double)
EK_INSTANTIATE(float, float)
EK_INSTANTIATE(float, double)
EK_INSTANTIATE(__nv_bfloat16, __nv_bfloat16)
EK_INSTANTIATE(__nv_bfloat16, double)
#undef EK_INSTANTIATE

#define EK_INSTANTIATE(P, G) \
  template cudaError_t row_gradient_total(const P*, std::int64_t, std::int64_t, G*, cudaStream_t);
EK_INSTANTIATE(double, double)
EK_INSTANTIATE(float, double)
EK_INSTANTIATE(float, float)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
