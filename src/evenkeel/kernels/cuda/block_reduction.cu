// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/block_reduction.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

/// One thread a column and block of rows: it adds from the first row to the last.
template <typename T>
__global__ void row_blocks_kernel(RowGradientArguments<T> args, std::int64_t rows,
                                  std::int64_t width) {
  const std::int64_t column = blockIdx.y * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  if (column >= width) return;
  const std::int64_t begin = blockIdx.x * kBlockRows;
  const std::int64_t end = min(rows, begin + kBlockRows);
  double dgain = 0;
  double dbias = 0;
  for (std::int64_t row = begin; row < end; ++row) {
    const double dy = load(args.dy + row * width + column);
    const double mean = args.mean == nullptr ? 0 : args.mean[row];
    const double rstd = args.rstd == nullptr ? 1 : args.rstd[row];
    dgain += dy * ((load(args.x + row * width + column) - mean) * rstd);
    dbias += dy;
  }
  args.dgain[blockIdx.x * width + column] = dgain;
  if (args.dbias != nullptr) args.dbias[blockIdx.x * width + column] = dbias;
}

template <typename T>
__global__ void squares_kernel(const T* x, double* sums, std::int64_t count) {
  const std::int64_t begin = blockIdx.x * kBlockValues;
  const std::int64_t here = min(count - begin, kBlockValues);
  const double sum = sum_over(here, [=](std::int64_t i) {
    const double value = load(x + begin + i);
    return value * value;
  });
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// One level of the tree: block 2 k stride takes up block (2 k + 1) stride.
__global__ void tree_level_kernel(double* sums, std::int64_t blocks, std::int64_t width,
                                  std::int64_t stride) {
  const std::int64_t column = blockIdx.y * static_cast<std::int64_t>(kThreads) + threadIdx.x;
  const std::int64_t to = 2 * stride * blockIdx.x;
  if (column >= width || to + stride >= blocks) return;
  sums[to * width + column] += sums[(to + stride) * width + column];
}

dim3 grid(std::int64_t blocks, std::int64_t width) {
  return dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(blocks_of(width, kThreads)));
}

}  // namespace

template <typename T>
cudaError_t add_row_blocks(const RowGradientArguments<T>& args, std::int64_t rows,
                           std::int64_t width, cudaStream_t stream) {
  if (rows == 0 || width == 0) return cudaSuccess;
  row_blocks_kernel<T>
      <<<grid(blocks_of(rows, kBlockRows), width), kThreads, 0, stream>>>(args, rows, width);
  return cudaGetLastError();
}

template <typename T>
cudaError_t sum_of_squares(const T* x, double* sums, std::int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(blocks_of(count, kBlockValues));
  squares_kernel<T><<<blocks, kThreads, 0, stream>>>(x, sums, count);
  return cudaGetLastError();
}

cudaError_t tree_sum(double* sums, std::int64_t blocks, std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  for (std::int64_t stride = 1; stride < blocks; stride *= 2) {
    const auto pairs = blocks_of(blocks, 2 * stride);
    tree_level_kernel<<<grid(pairs, width), kThreads, 0, stream>>>(sums, blocks, width, stride);
    if (const auto error = cudaGetLastError(); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

#define EK_INSTANTIATE(T)                                                                         \
  template cudaError_t add_row_blocks(const RowGradientArguments<T>&, std::int64_t, std::int64_t, \
                                      cudaStream_t);                                              \
  template cudaError_t sum_of_squares(const T*, double*, std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
