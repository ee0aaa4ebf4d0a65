// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/column_sums.cuh"
#include "evenkeel/kernels/cuda/row_statistics.cuh"
#include "evenkeel/kernels/cuda/sphere.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// unit(x) = scale x factor, with a power of two `scale`, nearly always 1.
template <typename F>
struct UnitFactor {
  F scale, factor;
  bool has_gradient;  // the factor depends on x
};

/// \param squares  the sum of the squares of scale * x
template <typename F>
__device__ UnitFactor<F> unit_factor(F squares, F scale) {
  constexpr F kTiny = static_cast<F>(1e-12);
  const F root = sqrt(squares), length = root / scale;
  if (length <= kTiny) return {1, 1 / kTiny, false};
  return {scale, 1 / root, length > kTiny};
}

/// The factor of a row, given the sum of its squares.
template <int kCount, typename T>
__device__ UnitFactor<OpMathType<T>> row_unit_factor(const T* x, OpMathType<T> squares,
                                                     std::int64_t width) {
  using F = OpMathType<T>;
  if (!is_extreme(squares)) return unit_factor(squares, static_cast<F>(1));
  const F scale = inverse_power_of_two(row_largest<kCount>(x, width));
  F sum = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto values = load_row<kCount>(x + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum += (values[k] * scale) * (values[k] * scale);
  });
  return unit_factor(block_sum(sum), scale);
}

/// u and v of a row.
template <typename F>
struct UnitPair {
  UnitFactor<F> start, towards;

  template <int kCount>
  __device__ void units(RowVector<F, kCount>& u, RowVector<F, kCount>& v) const {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      u[k] = u[k] * start.scale * start.factor;
      v[k] = v[k] * towards.scale * towards.factor;
    }
  }
};

template <int kCount, typename T>
__device__ UnitPair<OpMathType<T>> unit_pair(const T* start, const T* towards, std::int64_t width) {
  using F = OpMathType<T>;
  F squares[2] = {0, 0};
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto a = load_row<kCount>(start + i), b = load_row<kCount>(towards + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      squares[0] += a[k] * a[k];
      squares[1] += b[k] * b[k];
    }
  });
  block_sums(squares);
  return {row_unit_factor<kCount>(start, squares[0], width),
          row_unit_factor<kCount>(towards, squares[1], width)};
}

template <int kCount, typename T>
__global__ void sphere_step_kernel(SphereRows<T> args, std::int64_t width, bool is_staged) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const T* const start = staged_row<kCount>(args.start + offset, width, 0, is_staged);
  const T* const towards = staged_row<kCount>(args.towards + offset, width, 1, is_staged);
  const auto pair = unit_pair<kCount>(start, towards, width);
  const auto z = [&](std::int64_t i) {
    auto u = load_row<kCount>(start + i), v = load_row<kCount>(towards + i);
    const auto step = load_row<kCount>(args.step + i);
    pair.units(u, v);
#pragma unroll
    for (int k = 0; k < kCount; ++k) u[k] += static_cast<F>(step[k]) * (v[k] - u[k]);
    return u;
  };
  F squares = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto values = z(i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) squares += values[k] * values[k];
  });
  const F factor = unit_factor(block_sum(squares), static_cast<F>(1)).factor;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto values = z(i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) values[k] *= factor;
    store_row<kCount>(args.y + offset + i, values);
  });
}

/// u, v, z, the step and dz of some columns.
template <int kCount, typename F>
struct SphereValues {
  RowVector<F, kCount> u, v, z, step, dz;
};

/// A row of the backward pass, with what SphereMoments has of it: dz is dy for factor 1, along 0.
template <int kCount, typename T>
struct SphereRow {
  using F = OpMathType<T>;
  const T* dy;
  const T* start;
  const T* towards;
  const double* step;
  UnitPair<F> pair;
  F factor, along;

  /// From column i on.
  __device__ SphereValues<kCount, F> values(std::int64_t i) const {
    SphereValues<kCount, F> of;
    of.u = load_row<kCount>(start + i);
    of.v = load_row<kCount>(towards + i);
    of.dz = load_row<kCount>(dy + i);
    const auto steps = load_row<kCount>(step + i);
    pair.units(of.u, of.v);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      of.step[k] = static_cast<F>(steps[k]);
      of.z[k] = of.u[k] + of.step[k] * (of.v[k] - of.u[k]);
      of.dz[k] = factor * (of.dz[k] - of.z[k] * along);
    }
    return of;
  }
  /// Sets factor and along.
  __device__ void set_factor(std::int64_t width) {
    F sums[2] = {0, 0};  // z . z and z . dy
    for_own_columns<kCount>(width, [&](std::int64_t i) {
      const auto of = values(i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        sums[0] += of.z[k] * of.z[k];
        sums[1] += of.z[k] * of.dz[k];
      }
    });
    block_sums(sums);
    const auto unit = unit_factor(sums[0], static_cast<F>(1));
    factor = unit.factor;
    along = unit.has_gradient ? factor * factor * sums[1] : 0;
  }
  /// The sums of the gradients of u and of v along them.
  __device__ void add_along(F (&sums)[2], std::int64_t width) const {
    sums[0] = 0, sums[1] = 0;
    for_own_columns<kCount>(width, [&](std::int64_t i) {
      const auto of = values(i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        sums[0] += of.u[k] * (1 - of.step[k]) * of.dz[k];
        sums[1] += of.v[k] * of.step[k] * of.dz[k];
      }
    });
    block_sums(sums);
  }
};

template <int kCount, typename T>
__global__ void sphere_step_backward_kernel(SphereGradientRows<T> args, std::int64_t width,
                                            bool is_staged) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const T* const start = staged_row<kCount>(args.start + offset, width, 0, is_staged);
  const T* const towards = staged_row<kCount>(args.towards + offset, width, 1, is_staged);
  const T* const dy = staged_row<kCount>(args.dy + offset, width, 2, is_staged);
  const auto [a, b] = unit_pair<kCount>(start, towards, width);
  SphereRow<kCount, T> row = {dy, start, towards, args.step, {a, b}, 1, 0};
  row.set_factor(width);
  F sums[2];
  row.add_along(sums, width);
  const F along_u = a.has_gradient ? sums[0] : 0, along_v = b.has_gradient ? sums[1] : 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto of = row.values(i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F du = (1 - of.step[k]) * of.dz[k] - of.u[k] * along_u;
      const F dv = of.step[k] * of.dz[k] - of.v[k] * along_v;
      of.u[k] = du * a.factor * a.scale;
      of.v[k] = dv * b.factor * b.scale;
    }
    store_row<kCount>(args.dstart + offset + i, of.u);
    store_row<kCount>(args.dtowards + offset + i, of.v);
  });
  if (threadIdx.x != 0) return;
  args.moments[blockIdx.x] = {a.scale, a.factor, b.scale, b.factor, row.factor, row.along};
}

/// dz (v - u).
template <int kCount, typename T>
struct SphereTerms {
  SphereGradientRows<T> args;
  std::int64_t width;

  __device__ void load(std::int64_t row, std::int64_t column,
                       RowVector<OpMathType<T>, kCount> (&terms)[1]) const {
    const auto of_row = args.moments[row];
    const UnitPair<OpMathType<T>> pair = {{of_row.start_scale, of_row.start_factor, false},
                                          {of_row.towards_scale, of_row.towards_factor, false}};
    const std::int64_t at = row * width + column;
    const SphereRow<kCount, T> columns = {
        args.dy + at, args.start + at, args.towards + at, args.step + column,
        pair,         of_row.factor,   of_row.along};
    const auto of = columns.values(0);
#pragma unroll
    for (int k = 0; k < kCount; ++k) terms[0][k] = of.dz[k] * (of.v[k] - of.u[k]);
  }
};

}  // namespace

template <typename T>
cudaError_t sphere_step(const SphereRows<T>& args, std::int64_t rows, std::int64_t width,
                        cudaStream_t stream) {
  const bool vectors = takes_vectors<T>(width, args.start, args.towards, args.step, args.y);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 2);
    return launch_blocks(sphere_step_kernel<count, T>, rows, row_threads(width, count), staging,
                         stream, args, width, staging > 0);
  });
}

template <typename T>
cudaError_t sphere_step_backward(const SphereGradientRows<T>& args, std::int64_t rows,
                                 std::int64_t width, cudaStream_t stream) {
  const bool vectors = takes_vectors<T>(width, args.dy, args.start, args.towards, args.step,
                                        args.dstart, args.dtowards);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 3);
    const auto error =
        launch_blocks(sphere_step_backward_kernel<count, T>, rows, row_threads(width, count),
                      staging, stream, args, width, staging > 0);
    if (error != cudaSuccess) return error;
    const SphereTerms<count, T> terms = {args, width};
    return launch_column_sums<count, 1, OpMathType<T>>(terms, {{args.dstep}}, {1, rows}, width,
                                                       stream);
  });
}

#define EK_INSTANTIATE(T)                                                               \
  template cudaError_t sphere_step(const SphereRows<T>&, std::int64_t, std::int64_t,    \
                                   cudaStream_t);                                       \
  template cudaError_t sphere_step_backward(const SphereGradientRows<T>&, std::int64_t, \
                                            std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
