// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/bounded.cuh"
#include "evenkeel/kernels/cuda/bounded_functions.cuh"
#include "evenkeel/kernels/cuda/column_sums.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// The parameters, read from memory.
template <typename F>
struct LoadedParameters {
  F alpha, shift;
  bool is_erf;

  __device__ explicit LoadedParameters(const BoundedParameters& from)
      : alpha(static_cast<F>(*from.alpha)),
        shift(from.shift == nullptr ? 0 : static_cast<F>(*from.shift)),
        is_erf(from.is_erf) {}
  __device__ ValueAndSlope<F> operator()(F x) const {
    const F at = alpha * x + shift;
    return is_erf ? erf_with_slope(at) : tanh_with_slope(at);
  }
};

template <int kCount, typename T>
__global__ void bounded_kernel(BoundedRows<T> args, BoundedParameters parameters,
                               std::int64_t width) {
  const auto [row, column] = row_place<kCount>(width);
  if (column >= width) return;
  const LoadedParameters<OpMathType<T>> function(parameters);
  auto x = load_row<kCount>(args.x + row * width + column);
  const auto gain = load_row<kCount>(args.gain + column);
  const auto bias = load_row<kCount>(args.bias + column);
#pragma unroll
  for (int k = 0; k < kCount; ++k) x[k] = function(x[k]).value * gain[k] + bias[k];
  store_row<kCount>(args.y + row * width + column, x);
}

/// Writes dx, and gives the terms of the sums.
template <int kCount, typename T>
struct BoundedTerms {
  BoundedGradientRows<T> args;
  BoundedParameters parameters;
  std::int64_t width;

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[4]) const {
    using F = OpMathType<T>;
    const LoadedParameters<F> function(parameters);
    const std::int64_t at = row * width + column;
    const auto dy = load_row<kCount>(args.dy + at), gain = load_row<kCount>(args.gain + column);
    const auto x = load_row<kCount>(args.x + at);
    RowVector<F, kCount> dx;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto found = function(x[k]);
      const F through = dy[k] * gain[k] * found.slope;
      dx[k] = function.alpha * through;
      terms[0][k] = through * x[k];
      terms[1][k] = through;
      terms[2][k] = dy[k] * found.value;
      terms[3][k] = dy[k];
    }
    store_row<kCount>(args.dx + at, dx);
  }
};

}  // namespace

template <typename T>
cudaError_t bounded(const BoundedRows<T>& args, const BoundedParameters& parameters,
                    std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.x, args.gain, args.bias, args.y);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto [threads, parts] = row_parts(width, count);
    return launch_blocks(bounded_kernel<count, T>, rows * parts, threads, 0, stream, args,
                         parameters, width);
  });
}

template <typename T>
cudaError_t bounded_backward(const BoundedGradientRows<T>& args,
                             const BoundedParameters& parameters, std::int64_t rows,
                             std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.gain, args.dx);
  return with_vectors<T>(vectors, [&](auto count) {
    const BoundedTerms<count, T> terms = {args, parameters, width};
    const ColumnSums<4> sums = {{args.dalpha, args.dshift, args.dgain, args.dbias}};
    return launch_column_sums<count, 4, OpMathType<T>>(terms, sums, {1, rows}, width, stream);
  });
}

#define EK_INSTANTIATE(T)                                                                        \
  template cudaError_t bounded(const BoundedRows<T>&, const BoundedParameters&, std::int64_t,    \
                               std::int64_t, cudaStream_t);                                      \
  template cudaError_t bounded_backward(const BoundedGradientRows<T>&, const BoundedParameters&, \
                                        std::int64_t, std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
