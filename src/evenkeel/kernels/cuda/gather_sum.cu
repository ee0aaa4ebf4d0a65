// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/gather_sum.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <int kCount, typename T>
__global__ void gather_sum_kernel(GatherSumRows<T> args) {
  using F = OpMathType<T>;
  const auto [row, column] = row_place<kCount>(args.width);
  if (column >= args.width) return;
  const std::int64_t* const index = args.index + row * args.terms;
  RowVector<F, kCount> sum = {};
#pragma unroll 4
  for (std::int64_t j = 0; j < args.terms; ++j) {
    const std::int64_t at = index[j];
    RowVector<F, kCount> term;
    if (at >= 0 && at < args.x_rows) {
      term = load_row<kCount>(args.x + at * args.width + column);
    } else {
#pragma unroll
      for (int k = 0; k < kCount; ++k) term[k] = static_cast<F>(NAN);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum[k] += term[k];
  }
  store_row<kCount>(args.y + row * args.width + column, sum);
}

}  // namespace

template <typename T>
cudaError_t gather_sum(const GatherSumRows<T>& args, cudaStream_t stream) {
  if (args.width == 0) return cudaSuccess;
  return with_vectors<T>(takes_vectors<T>(args.width, args.x, args.y), [&](auto count) {
    const auto [threads, parts] = row_parts(args.width, count);
    return launch_blocks(gather_sum_kernel<count, T>, args.rows * parts, threads, 0, stream, args);
  });
}

template cudaError_t gather_sum(const GatherSumRows<double>&, cudaStream_t);
template cudaError_t gather_sum(const GatherSumRows<float>&, cudaStream_t);
template cudaError_t gather_sum(const GatherSumRows<__nv_bfloat16>&, cudaStream_t);

}  // namespace evenkeel::kernels::cuda
