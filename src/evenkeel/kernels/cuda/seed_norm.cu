// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/bounded_functions.cuh"
#include "evenkeel/kernels/cuda/column_sums.cuh"
#include "evenkeel/kernels/cuda/row_statistics.cuh"
#include "evenkeel/kernels/cuda/seed_norm.cuh"

namespace evenkeel::kernels::cuda {

namespace {

template <typename F>
struct SeedStatistics {
  F scale, rho;
  ValueAndSlope<F> t;
};

template <int kCount, typename T>
__device__ SeedStatistics<OpMathType<T>> seed_statistics(const T* x,
                                                         const SeedNormParameters<T>& parameters,
                                                         std::int64_t width) {
  using F = OpMathType<T>;
  F scale = 1;
  F sums[2];  // of squares, and along beta
  const auto add = [&] {
    sums[0] = 0, sums[1] = 0;
    for_own_columns<kCount>(width, [&](std::int64_t i) {
      const auto values = load_row<kCount>(x + i), beta = load_row<kCount>(parameters.beta + i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const F scaled = values[k] * scale;
        sums[0] += scaled * scaled;
        sums[1] += values[k] * beta[k];
      }
    });
    block_sums(sums);
  };
  add();
  if (is_extreme(sums[0])) {
    const F least = static_cast<F>(sqrt(parameters.epsilon));
    scale = inverse_power_of_two(max(row_largest<kCount>(x, width), least));
    add();
  }
  const F square =
      sums[0] / static_cast<F>(width) + static_cast<F>(parameters.epsilon) * scale * scale;
  return {scale, square == 0 ? 0 : 1 / sqrt(square), tanh_with_slope(sums[1])};
}

template <int kCount, typename T>
__global__ void seed_norm_kernel(const T* from, SeedNormParameters<T> parameters, T* to,
                                 std::int64_t width, bool is_staged) {
  const std::int64_t offset = blockIdx.x * width;
  const T* const x = staged_row<kCount>(from + offset, width, 0, is_staged);
  const auto found = seed_statistics<kCount>(x, parameters, width);
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto values = load_row<kCount>(x + i);
    const auto alpha = load_row<kCount>(parameters.alpha + i);
    const auto gain = load_row<kCount>(parameters.gain + i);
    const auto bias = load_row<kCount>(parameters.bias + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const auto x_hat = values[k] * found.scale * found.rho;
      values[k] = (alpha[k] * found.t.value + gain[k]) * x_hat + bias[k];
    }
    store_row<kCount>(to + offset + i, values);
  });
}

template <int kCount, typename T>
__global__ void seed_norm_backward_kernel(SeedNormGradientRows<T> args,
                                          SeedNormParameters<T> parameters, std::int64_t width,
                                          bool is_staged) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const T* const x = staged_row<kCount>(args.x + offset, width, 0, is_staged);
  const T* const dy = staged_row<kCount>(args.dy + offset, width, 1, is_staged);
  const auto found = seed_statistics<kCount>(x, parameters, width);
  const F scale = found.scale, rho = found.rho, t = found.t.value;
  F sums[2] = {0, 0};  // of dy * x_hat with alpha, and with gain
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto values = load_row<kCount>(x + i), upstream = load_row<kCount>(dy + i);
    const auto alpha = load_row<kCount>(parameters.alpha + i);
    const auto gain = load_row<kCount>(parameters.gain + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F both = upstream[k] * (values[k] * scale * rho);
      sums[0] += both * alpha[k];
      sums[1] += both * gain[k];
    }
  });
  block_sums(sums);
  const F s = found.t.slope * sums[0];
  const F mean = (t * sums[0] + sums[1]) / static_cast<F>(width);
  if (threadIdx.x == 0) args.moments[blockIdx.x] = {scale, rho, t, s};
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto values = load_row<kCount>(x + i);
    const auto upstream = load_row<kCount>(dy + i), beta = load_row<kCount>(parameters.beta + i);
    const auto alpha = load_row<kCount>(parameters.alpha + i);
    const auto gain = load_row<kCount>(parameters.gain + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F u = upstream[k] * (alpha[k] * t + gain[k]);
      values[k] = rho * (u - values[k] * scale * rho * mean) * scale + s * beta[k];
    }
    store_row<kCount>(args.dx + offset + i, values);
  });
}

/// t dy x_hat, s x, dy x_hat and dy.
template <int kCount, typename T>
struct SeedNormTerms {
  const T* dy;
  const T* x;
  const SeedNormMoments<OpMathType<T>>* moments;
  std::int64_t width;

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[4]) const {
    const auto [scale, rho, t, s] = moments[row];
    const auto values = load_row<kCount>(x + row * width + column);
    terms[3] = load_row<kCount>(dy + row * width + column);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      terms[2][k] = terms[3][k] * (values[k] * scale * rho);
      terms[1][k] = s * values[k];
      terms[0][k] = t * terms[2][k];
    }
  }
};

}  // namespace

template <typename T>
cudaError_t seed_norm(const T* x, const SeedNormParameters<T>& parameters, T* y, std::int64_t rows,
                      std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, x, parameters.alpha, parameters.beta,
                                        parameters.gain, parameters.bias, y);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 1);
    return launch_blocks(seed_norm_kernel<count, T>, rows, row_threads(width, count), staging,
                         stream, x, parameters, y, width, staging > 0);
  });
}

template <typename T>
cudaError_t seed_norm_backward(const SeedNormGradientRows<T>& args,
                               const SeedNormParameters<T>& parameters, std::int64_t rows,
                               std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.dx, parameters.alpha,
                                        parameters.beta, parameters.gain);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 2);
    const auto error =
        launch_blocks(seed_norm_backward_kernel<count, T>, rows, row_threads(width, count), staging,
                      stream, args, parameters, width, staging > 0);
    if (error != cudaSuccess) return error;
    const SeedNormTerms<count, T> terms = {args.dy, args.x, args.moments, width};
    const ColumnSums<4> sums = {{args.dalpha, args.dbeta, args.dgain, args.dbias}};
    return launch_column_sums<count, 4, OpMathType<T>>(terms, sums, {1, rows}, width, stream);
  });
}

#define EK_INSTANTIATE(T)                                                                  \
  template cudaError_t seed_norm(const T*, const SeedNormParameters<T>&, T*, std::int64_t, \
                                 std::int64_t, cudaStream_t);                              \
  template cudaError_t seed_norm_backward(const SeedNormGradientRows<T>&,                  \
                                          const SeedNormParameters<T>&, std::int64_t,      \
                                          std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
