// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/column_sums.cuh"
#include "evenkeel/kernels/cuda/row_norm.cuh"
#include "evenkeel/kernels/cuda/row_statistics.cuh"

namespace evenkeel::kernels::cuda {

namespace {

using EpsilonAt = RowDenominator::EpsilonAt;

/// Moments of a row, and the slope of its gradient.
template <typename F>
struct MomentsAndSlope {
  RowMoments<F> moments;
  F squares;  // their mean, or their sum
  F slope;    // -d(rho)/d(s) * 2 / (rho^2 * count of the mean)
};

/// rho and slope from the mean of squares s and the count of the mean.
/// \param e  epsilon, in the unit of s if it is inside of the root, else of the root
template <typename F>
__device__ void set_rho(MomentsAndSlope<F>& to, F e, F count, EpsilonAt epsilon_at) {
  const F root = sqrt(to.squares);
  F& rho = to.moments.rho;
  if (epsilon_at == EpsilonAt::inside) {
    const F sum = to.squares + e;
    rho = sum == 0 ? 0 : 1 / sqrt(sum);
    to.slope = rho / count;
  } else if (epsilon_at == EpsilonAt::outside) {
    rho = root + e == 0 ? 0 : 1 / (root + e);
    to.slope = root == 0 ? 0 : 1 / (root * count);
  } else {
    const F clamped = root < e ? e : root;
    rho = clamped == 0 ? 0 : 1 / clamped;
    to.slope = root > e ? rho / count : 0;
  }
}

/// The moments of scale * x.
template <int kCount, typename T>
__device__ MomentsAndSlope<OpMathType<T>> scaled_moments(const T* x, OpMathType<T> x_first,
                                                         OpMathType<T> scale,
                                                         const RowDenominator& denominator) {
  using F = OpMathType<T>;
  const F first = denominator.is_centred ? x_first * scale : 0;
  F mean = 0;
  if (denominator.is_centred) {
    for_own_columns<kCount>(denominator.width, [&](std::int64_t i) {
      const auto values = load_row<kCount>(x + i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) mean += values[k] * scale - first;
    });
    mean = block_sum(mean) / static_cast<F>(denominator.width);
  }
  F squares = 0;
  for_own_columns<kCount>(denominator.partial_width, [&](std::int64_t i) {
    const auto values = load_row<kCount>(x + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F deviation = values[k] * scale - first - mean;
      if (i + k < denominator.partial_width) squares += deviation * deviation;
    }
  });
  const F count = denominator.is_length ? 1 : static_cast<F>(denominator.partial_width);
  MomentsAndSlope<F> found = {{scale, first, mean, 0}, block_sum(squares) / count, 0};
  // norm(x / c) with epsilon e equals norm(x) with epsilon e c, or e c^2 if e is inside the root.
  F c = scale;
  if (denominator.absmax8) {
    const F eighth = row_largest<kCount>(x, denominator.width) / 8;
    c *= eighth > 0 ? eighth : 1;
  }
  const F e = static_cast<F>(denominator.epsilon) * c;
  const bool is_inside = denominator.epsilon_at == EpsilonAt::inside;
  set_rho(found, is_inside ? e * c : e, count, denominator.epsilon_at);
  return found;
}

/// \param x        the row, of which each thread reads its own columns
/// \param x_first  the first value of the row
template <int kCount, typename T>
__device__ MomentsAndSlope<OpMathType<T>> moments_of(const T* x, OpMathType<T> x_first,
                                                     const RowDenominator& denominator) {
  using F = OpMathType<T>;
  const auto found = scaled_moments<kCount>(x, x_first, static_cast<F>(1), denominator);
  if (!is_extreme(found.squares)) return found;
  const F epsilon = denominator.absmax8 ? 0 : static_cast<F>(denominator.epsilon);
  const F least = denominator.epsilon_at == EpsilonAt::inside ? sqrt(epsilon) : epsilon;
  const F largest = row_largest<kCount>(x, denominator.width);
  return scaled_moments<kCount>(x, x_first, inverse_power_of_two(max(largest, least)), denominator);
}

/// The group of this block: its first value, and its first column in a row.
struct GroupPlace {
  std::int64_t offset, column;
};
__device__ GroupPlace group_place(const RowDenominator& denominator) {
  return {blockIdx.x * denominator.width, blockIdx.x % denominator.groups * denominator.width};
}

template <int kCount, typename T>
__global__ void row_norm_kernel(RowNormRows<T> args, RowDenominator denominator, bool is_staged) {
  const auto [offset, column] = group_place(denominator);
  const std::int64_t width = denominator.width;
  const T* const x = staged_row<kCount>(args.x + offset, width, 0, is_staged);
  const auto found = moments_of<kCount>(x, widened(args.x[offset]), denominator);
  const auto [scale, first, mean, rho] = found.moments;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto values = load_row<kCount>(x + i);
    const auto gain = load_row<kCount>(args.gain + column + i);
    const auto bias = load_row<kCount>(args.bias + column + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      values[k] = (values[k] * scale - first - mean) * rho * gain[k] + bias[k];
    }
    store_row<kCount>(args.y + offset + i, values);
  });
}

template <int kCount, typename T>
__global__ void row_norm_backward_kernel(RowNormGradientRows<T> args, RowDenominator denominator,
                                         bool is_staged) {
  using F = OpMathType<T>;
  const auto [offset, column] = group_place(denominator);
  const std::int64_t width = denominator.width;
  const T* const x = staged_row<kCount>(args.x + offset, width, 0, is_staged);
  const T* const dy = staged_row<kCount>(args.dy + offset, width, 1, is_staged);
  const OpMathType<T>* const gains = args.gain + column;
  const auto found = moments_of<kCount>(x, widened(args.x[offset]), denominator);
  const auto [scale, first, mean, rho] = found.moments;
  if (threadIdx.x == 0) args.moments[blockIdx.x] = found.moments;
  F sums[2] = {0, 0};  // of g * x_hat, and of g
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto values = load_row<kCount>(x + i), upstream = load_row<kCount>(dy + i);
    const auto gain = load_row<kCount>(gains + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F g = upstream[k] * gain[k];
      sums[0] += g * ((values[k] * scale - first - mean) * rho);
      sums[1] += g;
    }
  });
  block_sums(sums);
  const F projection = found.slope * sums[0];
  const F mean_g = denominator.is_centred ? sums[1] / static_cast<F>(width) : 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto values = load_row<kCount>(x + i);
    const auto upstream = load_row<kCount>(dy + i), gain = load_row<kCount>(gains + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F x_hat = (values[k] * scale - first - mean) * rho;
      const F along = i + k < denominator.partial_width ? x_hat * projection : 0;
      values[k] = (rho * (upstream[k] * gain[k] - mean_g) - along) * scale;
    }
    store_row<kCount>(args.dx + offset + i, values);
  });
}

/// dy * x_hat, and dy.
template <int kCount, typename T>
struct RowNormTerms {
  const T* dy;
  const T* x;
  const RowMoments<OpMathType<T>>* moments;
  std::int64_t width, groups;  // of a group

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[2]) const {
    const std::int64_t at = row * width * groups + column;
    const auto [scale, first, mean, rho] = moments[row * groups + column / width];
    const auto values = load_row<kCount>(x + at);
    terms[1] = load_row<kCount>(dy + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      terms[0][k] = terms[1][k] * ((values[k] * scale - first - mean) * rho);
    }
  }
};

}  // namespace

template <typename T>
cudaError_t row_norm(const RowNormRows<T>& args, std::int64_t rows,
                     const RowDenominator& denominator, cudaStream_t stream) {
  const auto width = denominator.width;
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.x, args.gain, args.bias, args.y);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 1);
    return launch_blocks(row_norm_kernel<count, T>, rows * denominator.groups,
                         row_threads(width, count), staging, stream, args, denominator,
                         staging > 0);
  });
}

template <typename T>
cudaError_t row_norm_backward(const RowNormGradientRows<T>& args, std::int64_t rows,
                              const RowDenominator& denominator, cudaStream_t stream) {
  const auto width = denominator.width, groups = denominator.groups;
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.gain, args.dx);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 2);
    const auto error =
        launch_blocks(row_norm_backward_kernel<count, T>, rows * groups, row_threads(width, count),
                      staging, stream, args, denominator, staging > 0);
    if (error != cudaSuccess || (args.dgain == nullptr && args.dbias == nullptr)) return error;
    const RowNormTerms<count, T> terms = {args.dy, args.x, args.moments, width, groups};
    return launch_column_sums<count, 2, OpMathType<T>>(terms, {{args.dgain, args.dbias}}, {1, rows},
                                                       width * groups, stream);
  });
}

#define EK_INSTANTIATE(T)                                                                   \
  template cudaError_t row_norm(const RowNormRows<T>&, std::int64_t, const RowDenominator&, \
                                cudaStream_t);                                              \
  template cudaError_t row_norm_backward(const RowNormGradientRows<T>&, std::int64_t,       \
                                         const RowDenominator&, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
