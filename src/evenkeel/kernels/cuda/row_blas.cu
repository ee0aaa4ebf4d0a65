// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/row_blas.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"
#include "evenkeel/kernels/cuda/warp_reduction.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <int kCount, typename T>
__global__ void scale_rows_kernel(ScaledRows<T> args, std::int64_t width) {
  const auto [row, column] = row_place<kCount>(width);
  if (column >= width) return;
  const std::int64_t at = row * width + column;
  const OpMathType<T> factor = args.factor[row * args.factor_stride];
  auto x = load_row<kCount>(args.x + at);
#pragma unroll
  for (int k = 0; k < kCount; ++k) x[k] *= factor;
  store_row<kCount>(args.y + at, x);
}

template <int kCount, typename T>
__global__ void scale_rows_backward_kernel(ScaledRowsGradient<T> args, std::int64_t width) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const F factor = args.factor[blockIdx.x];
  F dot = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto dy = load_row<kCount>(args.dy + offset + i);
    const auto x = load_row<kCount>(args.x + offset + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      dot += dy[k] * x[k];
      dy[k] *= factor;
    }
    store_row<kCount>(args.dx + offset + i, dy);
  });
  dot = block_sum(dot);
  if (threadIdx.x == 0) args.dfactor[blockIdx.x] = dot;
}

template <int kCount, typename T>
__global__ void reduce_rows_kernel(ReducedRows<T> args, std::int64_t width) {
  const auto [row, column] = row_place<kCount>(width);
  if (column >= width) return;
  const std::int64_t at = row * width + column;
  const OpMathType<T> factor = args.factor[0], less = args.less[row];
  auto x = load_row<kCount>(args.x + at);
  const auto other = load_row<kCount>(args.other + column);
#pragma unroll
  for (int k = 0; k < kCount; ++k) x[k] = factor * x[k] - less * other[k];
  store_row<kCount>(args.y + at, x);
}

/// a . b in double, for every thread of the block.
template <int kCount, typename A, typename B>
__device__ double row_dot(const A* a, const B* b, std::int64_t width) {
  double dot = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto left = load_row<kCount>(a + i);
    const auto right = load_row<kCount>(b + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      dot += static_cast<double>(left[k]) * static_cast<double>(right[k]);
    }
  });
  return block_sum(dot);
}

template <int kCount, typename T, typename B>
__global__ void row_dots_kernel(RowDots<T, B> args, std::int64_t width) {
  const std::int64_t row = blockIdx.x;
  const double dot = row_dot<kCount>(args.a + row * width, args.b + row * args.b_stride, width);
  if (threadIdx.x == 0) args.dots[row] = dot;
}

/// 1 / |v|, or 1 for zeros.
template <int kCount, typename T>
__device__ double inverse_length(const T* v, std::int64_t width) {
  const double squares = row_dot<kCount>(v, v, width);
  return squares > 0 ? 1 / sqrt(squares) : 1;
}

template <int kCount, typename T>
__global__ void weight_norm_kernel(WeightNormRows<T> args, std::int64_t width) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const double rho = inverse_length<kCount>(args.v + offset, width);
  const double factor = args.gain[blockIdx.x] * rho;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto v = load_row<kCount>(args.v + offset + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) v[k] = static_cast<F>(factor * v[k]);
    store_row<kCount>(args.w + offset + i, v);
  });
}

template <int kCount, typename T>
__global__ void weight_norm_backward_kernel(WeightNormGradientRows<T> args, std::int64_t width) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const double rho = inverse_length<kCount>(args.v + offset, width);
  const double along = row_dot<kCount>(args.dw + offset, args.v + offset, width) * rho;
  const double factor = args.gain[blockIdx.x] * rho, less = factor * along * rho;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto dw = load_row<kCount>(args.dw + offset + i);
    const auto v = load_row<kCount>(args.v + offset + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) dw[k] = static_cast<F>(factor * dw[k] - less * v[k]);
    store_row<kCount>(args.dv + offset + i, dw);
  });
  if (threadIdx.x == 0) args.dgain[blockIdx.x] = static_cast<F>(along);
}

}  // namespace

template <typename T>
cudaError_t scale_rows(const ScaledRows<T>& args, std::int64_t rows, std::int64_t width,
                       cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  return with_vectors<T>(takes_vectors<T>(width, args.x, args.y), [&](auto count) {
    const auto [threads, parts] = row_parts(width, count);
    return launch_blocks(scale_rows_kernel<count, T>, rows * parts, threads, 0, stream, args,
                         width);
  });
}

template <typename T>
cudaError_t scale_rows_backward(const ScaledRowsGradient<T>& args, std::int64_t rows,
                                std::int64_t width, cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, args.dy, args.x, args.dx), [&](auto count) {
    return launch_blocks(scale_rows_backward_kernel<count, T>, rows, row_threads(width, count), 0,
                         stream, args, width);
  });
}

template <typename T>
cudaError_t reduce_rows(const ReducedRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  return with_vectors<T>(takes_vectors<T>(width, args.x, args.other, args.y), [&](auto count) {
    const auto [threads, parts] = row_parts(width, count);
    return launch_blocks(reduce_rows_kernel<count, T>, rows * parts, threads, 0, stream, args,
                         width);
  });
}

template <typename T, typename B>
cudaError_t row_dots(const RowDots<T, B>& args, std::int64_t rows, std::int64_t width,
                     cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, args.a, args.b), [&](auto count) {
    return launch_blocks(row_dots_kernel<count, T, B>, rows, row_threads(width, count), 0, stream,
                         args, width);
  });
}

template <typename T>
cudaError_t weight_norm(const WeightNormRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, args.v, args.w), [&](auto count) {
    return launch_blocks(weight_norm_kernel<count, T>, rows, row_threads(width, count), 0, stream,
                         args, width);
  });
}

template <typename T>
cudaError_t weight_norm_backward(const WeightNormGradientRows<T>& args, std::int64_t rows,
                                 std::int64_t width, cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, args.dw, args.v, args.dv), [&](auto count) {
    return launch_blocks(weight_norm_backward_kernel<count, T>, rows, row_threads(width, count), 0,
                         stream, args, width);
  });
}

#define EK_INSTANTIATE(T)                                                                          \
  template cudaError_t scale_rows(const ScaledRows<T>&, std::int64_t, std::int64_t, cudaStream_t); \
  template cudaError_t scale_rows_backward(const ScaledRowsGradient<T>&, std::int64_t,             \
                                           std::int64_t, cudaStream_t);                            \
  template cudaError_t reduce_rows(const ReducedRows<T>&, std::int64_t, std::int64_t,              \
                                   cudaStream_t);                                                  \
  template cudaError_t row_dots(const RowDots<T, T>&, std::int64_t, std::int64_t, cudaStream_t);   \
  template cudaError_t weight_norm(const WeightNormRows<T>&, std::int64_t, std::int64_t,           \
                                   cudaStream_t);                                                  \
  template cudaError_t weight_norm_backward(const WeightNormGradientRows<T>&, std::int64_t,        \
                                            std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE
template cudaError_t row_dots(const RowDots<__nv_bfloat16, float>&, std::int64_t, std::int64_t,
                              cudaStream_t);

}  // namespace evenkeel::kernels::cuda
