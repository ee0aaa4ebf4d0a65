// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/column_norm.cuh"
#include "evenkeel/kernels/cuda/column_sums.cuh"
#include "evenkeel/kernels/cuda/row_vectors.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// x - first row of the sequence - offset, for some columns of a row.
template <int kCount, typename T>
struct Deviations {
  const T* x;
  const OpMathType<T>* offset;  // null: 0
  std::int64_t rows, width;     // rows of a sequence

  __device__ RowVector<OpMathType<T>, kCount> at(std::int64_t row, std::int64_t column) const {
    const std::int64_t sequence = row / rows;
    auto values = load_row<kCount>(x + row * width + column);
    const auto first = load_row<kCount>(x + sequence * rows * width + column);
    RowVector<OpMathType<T>, kCount> from = {};
    if (offset != nullptr) from = load_row<kCount>(offset + sequence * width + column);
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k] = values[k] - first[k] - from[k];
    return values;
  }
};

template <int kCount, typename T>
struct MomentTerms {
  Deviations<kCount, T> deviations;

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[1]) const {
    terms[0] = deviations.at(row, column);
    if (deviations.offset == nullptr) return;
#pragma unroll
    for (int k = 0; k < kCount; ++k) terms[0][k] *= terms[0][k];
  }
};

template <int kCount, typename T>
__global__ void column_norm_kernel(ColumnNormRows<T> args, std::int64_t rows, std::int64_t width) {
  const auto [row, column] = row_place<kCount>(width);
  if (column >= width) return;
  const Deviations<kCount, T> deviations = {args.x, args.offset, rows, width};
  auto values = deviations.at(row, column);
  const auto rho = load_row<kCount>(args.rho + row / rows * width + column);
  const auto gain = load_row<kCount>(args.gain + column);
  const auto bias = load_row<kCount>(args.bias + column);
#pragma unroll
  for (int k = 0; k < kCount; ++k) values[k] = values[k] * rho[k] * gain[k] + bias[k];
  store_row<kCount>(args.y + row * width + column, values);
}

/// dy * x_hat, and dy.
template <int kCount, typename T>
struct ColumnGradientTerms {
  ColumnNormGradientRows<T> args;
  std::int64_t rows, width;

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[2]) const {
    const Deviations<kCount, T> deviations = {args.x, args.offset, rows, width};
    const auto values = deviations.at(row, column);
    const auto rho = load_row<kCount>(args.rho + row / rows * width + column);
    terms[1] = load_row<kCount>(args.dy + row * width + column);
#pragma unroll
    for (int k = 0; k < kCount; ++k) terms[0][k] = terms[1][k] * (values[k] * rho[k]);
  }
};

template <int kCount, typename T>
__global__ void column_norm_backward_kernel(ColumnNormGradientRows<T> args,
                                            const OpMathType<T>* mean_dy,
                                            const OpMathType<T>* projection,
                                            const OpMathType<T>* gain, T* dx, std::int64_t rows,
                                            std::int64_t width) {
  const auto [row, column] = row_place<kCount>(width);
  if (column >= width) return;
  const std::int64_t at = row / rows * width + column;
  const Deviations<kCount, T> deviations = {args.x, args.offset, rows, width};
  auto values = deviations.at(row, column);
  const auto upstream = load_row<kCount>(args.dy + row * width + column);
  const auto rho = load_row<kCount>(args.rho + at), mean = load_row<kCount>(mean_dy + at);
  const auto along = load_row<kCount>(projection + at), by = load_row<kCount>(gain + column);
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const auto x_hat = values[k] * rho[k];
    values[k] = by[k] * (rho[k] * (upstream[k] - mean[k]) - x_hat * along[k]);
  }
  store_row<kCount>(dx + row * width + column, values);
}

}  // namespace

template <typename T>
cudaError_t column_moments(const T* x, const OpMathType<T>* offset, double* sums,
                           const RowGroups& sequences, std::int64_t width, cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, x, offset), [&](auto count) {
    const MomentTerms<count, T> terms = {{x, offset, sequences.rows, width}};
    return launch_column_sums<count, 1, OpMathType<T>>(terms, {{sums}}, sequences, width, stream);
  });
}

template <typename T>
cudaError_t column_norm(const ColumnNormRows<T>& args, const RowGroups& sequences,
                        std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors =
      takes_vectors<T>(width, args.x, args.offset, args.rho, args.gain, args.bias, args.y);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto [threads, parts] = row_parts(width, count);
    return launch_blocks(column_norm_kernel<count, T>, sequences.groups * sequences.rows * parts,
                         threads, 0, stream, args, sequences.rows, width);
  });
}

template <typename T>
cudaError_t column_norm_sums(const ColumnNormGradientRows<T>& args, double* dgain, double* dbias,
                             const RowGroups& sequences, std::int64_t width, cudaStream_t stream) {
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.offset, args.rho);
  return with_vectors<T>(vectors, [&](auto count) {
    const ColumnGradientTerms<count, T> terms = {args, sequences.rows, width};
    return launch_column_sums<count, 2, OpMathType<T>>(terms, {{dgain, dbias}}, sequences, width,
                                                       stream);
  });
}

template <typename T>
cudaError_t column_norm_backward(const ColumnNormGradientRows<T>& args,
                                 const OpMathType<T>* mean_dy, const OpMathType<T>* projection,
                                 const OpMathType<T>* gain, T* dx, const RowGroups& sequences,
                                 std::int64_t width, cudaStream_t stream) {
  if (width == 0) return cudaSuccess;
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.offset, args.rho, mean_dy,
                                        projection, gain, dx);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto [threads, parts] = row_parts(width, count);
    return launch_blocks(column_norm_backward_kernel<count, T>,
                         sequences.groups * sequences.rows * parts, threads, 0, stream, args,
                         mean_dy, projection, gain, dx, sequences.rows, width);
  });
}

#define EK_INSTANTIATE(T)                                                                        \
  template cudaError_t column_moments(const T*, const OpMathType<T>*, double*, const RowGroups&, \
                                      std::int64_t, cudaStream_t);                               \
  template cudaError_t column_norm(const ColumnNormRows<T>&, const RowGroups&, std::int64_t,     \
                                   cudaStream_t);                                                \
  template cudaError_t column_norm_sums(const ColumnNormGradientRows<T>&, double*, double*,      \
                                        const RowGroups&, std::int64_t, cudaStream_t);           \
  template cudaError_t column_norm_backward(                                                     \
      const ColumnNormGradientRows<T>&, const OpMathType<T>*, const OpMathType<T>*,              \
      const OpMathType<T>*, T*, const RowGroups&, std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
