// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/row_statistics.cuh"
#include "evenkeel/kernels/cuda/sphere.cuh"

namespace evenkeel::kernels::cuda {

namespace {

/// The scalars of a row of x and g times `scale`, a power of two, nearly always 1;
/// t = g - projection x is the tangent.
template <typename F>
struct Arc {
  F scale = 1, x_squared = 0, projection = 0, x_norm = 0, tangent_norm = 0;
  F ratio = 0;                       // tangent_norm / x_norm, at most kMaxAngle
  F unclamped_angle = 0, angle = 0;  // before it is clamped, and after

  static constexpr F kMaxAngle = static_cast<F>(0.78539816339744830962);  // pi / 4

  __device__ F safe_tangent_norm() const { return tangent_norm > 0 ? tangent_norm : 1; }
};

/// x . x and x . g.
template <int kCount, typename T>
__device__ void add_along(const T* x, const T* g, std::int64_t width, OpMathType<T> scale,
                          OpMathType<T> (&sums)[2]) {
  sums[0] = 0, sums[1] = 0;
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto from = load_row<kCount>(x + i), to = load_row<kCount>(g + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      sums[0] += (from[k] * scale) * (from[k] * scale);
      sums[1] += (from[k] * scale) * (to[k] * scale);
    }
  });
  block_sums(sums);
}

template <int kCount, typename T>
__device__ Arc<OpMathType<T>> arc_of(const T* x, const T* g, std::int64_t width) {
  using F = OpMathType<T>;
  Arc<F> arc;
  F sums[2];
  add_along<kCount>(x, g, width, arc.scale, sums);
  if (is_extreme(sums[0])) {
    arc.scale = inverse_power_of_two(row_largest<kCount>(x, width));
    add_along<kCount>(x, g, width, arc.scale, sums);
  }
  arc.x_squared = sums[0];
  if (arc.x_squared == 0) return arc;
  arc.projection = sums[1] / arc.x_squared;
  arc.x_norm = sqrt(arc.x_squared);
  return arc;
}

/// Sets what follows from the square of the tangent.
template <typename F>
__device__ void set_angle(Arc<F>& arc, F tangent_squared, const GeodesicParameters& parameters) {
  arc.tangent_norm = sqrt(tangent_squared);
  const F ratio = arc.tangent_norm / arc.x_norm;
  arc.ratio = Arc<F>::kMaxAngle < ratio ? Arc<F>::kMaxAngle : ratio;
  arc.unclamped_angle =
      (static_cast<F>(*parameters.scale) * arc.ratio + static_cast<F>(*parameters.bias)) *
      static_cast<F>(parameters.decay);
  arc.angle = Arc<F>::kMaxAngle < arc.unclamped_angle ? Arc<F>::kMaxAngle : arc.unclamped_angle;
}

template <int kCount, typename T>
__global__ void geodesic_step_kernel(GeodesicRows<T> args, GeodesicParameters parameters,
                                     std::int64_t width, bool is_staged) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const T* const x = staged_row<kCount>(args.x + offset, width, 0, is_staged);
  const T* const g = staged_row<kCount>(args.g + offset, width, 1, is_staged);
  auto arc = arc_of<kCount>(x, g, width);
  F x_factor = 1, tangent_factor = 1;
  if (arc.x_squared != 0) {
    F squares = 0;
    for_own_columns<kCount>(width, [&](std::int64_t i) {
      const auto from = load_row<kCount>(x + i), to = load_row<kCount>(g + i);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const F t = to[k] * arc.scale - arc.projection * (from[k] * arc.scale);
        squares += t * t;
      }
    });
    set_angle(arc, block_sum(squares), parameters);
    x_factor = cos(arc.angle);
    tangent_factor = arc.x_norm * sin(arc.angle) / arc.safe_tangent_norm();
  }
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto from = load_row<kCount>(x + i);
    const auto to = load_row<kCount>(g + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      from[k] = x_factor * from[k] + tangent_factor * (to[k] - arc.projection * from[k]);
    }
    store_row<kCount>(args.y + offset + i, from);
  });
}

/// The factors of a row's gradients, as in kernels/cpu/portable/sphere.cpp, for x and g times
/// scale.
template <typename F>
struct ArcSlope {
  F cosine, dangle;  // dangle: of the angle before it is clamped, times scale
  F by_dy, by_t, by_x;
  F dprojection_over_square;
};

/// \param dy_x, dy_t  dot products of dy with x and with t
template <typename F>
__device__ ArcSlope<F> arc_slope(const Arc<F>& arc, const GeodesicParameters& parameters, F dy_x,
                                 F dy_t) {
  const F cosine = cos(arc.angle), sine = sin(arc.angle);
  const F forward = dy_t / arc.safe_tangent_norm();  // dy along the direction of t
  const bool is_angle_clamped = arc.unclamped_angle > Arc<F>::kMaxAngle;
  const F dangle = is_angle_clamped ? 0
                                    : (cosine * arc.x_norm * forward - sine * dy_x) *
                                          static_cast<F>(parameters.decay);
  const bool is_ratio_clamped = arc.tangent_norm / arc.x_norm > Arc<F>::kMaxAngle;
  const F dratio = is_ratio_clamped ? 0 : dangle * static_cast<F>(*parameters.scale);
  const F dx_norm = sine * forward - dratio * arc.tangent_norm / arc.x_squared;
  const F by_dy = arc.x_norm * sine / arc.safe_tangent_norm();
  const F dtangent_norm = dratio / arc.x_norm - by_dy * forward;
  const F dprojection = -by_dy * dy_x;
  return {cosine,
          dangle,
          by_dy,
          arc.tangent_norm > 0 ? dtangent_norm / arc.tangent_norm : 0,
          dx_norm / arc.x_norm - 2 * arc.projection * dprojection / arc.x_squared,
          dprojection / arc.x_squared};
}

/// The factors of a row that is not zero; sets the angle of its arc.
template <int kCount, typename T>
__device__ ArcSlope<OpMathType<T>> slope_of_row(Arc<OpMathType<T>>& arc, const T* dy, const T* x,
                                                const T* g, const GeodesicParameters& parameters,
                                                std::int64_t width) {
  using F = OpMathType<T>;
  F sums[3] = {0, 0, 0};  // t . t, dy . x and dy . t
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    const auto from = load_row<kCount>(x + i), to = load_row<kCount>(g + i);
    const auto upstream = load_row<kCount>(dy + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F scaled = from[k] * arc.scale, t = to[k] * arc.scale - arc.projection * scaled;
      sums[0] += t * t;
      sums[1] += upstream[k] * scaled;
      sums[2] += upstream[k] * t;
    }
  });
  block_sums(sums);
  set_angle(arc, sums[0], parameters);
  return arc_slope(arc, parameters, sums[1], sums[2]);
}

template <int kCount, typename T>
__global__ void geodesic_step_backward_kernel(GeodesicGradientRows<T> args,
                                              GeodesicParameters parameters, std::int64_t width,
                                              bool is_staged) {
  using F = OpMathType<T>;
  const std::int64_t offset = blockIdx.x * width;
  const T* const dy = staged_row<kCount>(args.dy + offset, width, 0, is_staged);
  const T* const x = staged_row<kCount>(args.x + offset, width, 1, is_staged);
  const T* const g = staged_row<kCount>(args.g + offset, width, 2, is_staged);
  auto arc = arc_of<kCount>(x, g, width);
  const bool is_zero = arc.x_squared == 0;
  ArcSlope<F> slope = {};
  if (!is_zero) slope = slope_of_row<kCount>(arc, dy, x, g, parameters, width);
  for_own_columns<kCount>(width, [&](std::int64_t i) {
    auto from = load_row<kCount>(x + i), to = load_row<kCount>(g + i);
    const auto upstream = load_row<kCount>(dy + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const F x_k = from[k] * arc.scale, g_k = to[k] * arc.scale;
      const F dt = slope.by_dy * upstream[k] + slope.by_t * (g_k - arc.projection * x_k);
      const F dg = dt + slope.dprojection_over_square * x_k;
      const F dx = slope.cosine * upstream[k] + slope.by_x * x_k +
                   slope.dprojection_over_square * g_k - arc.projection * dt;
      from[k] = is_zero ? upstream[k] : dx;
      to[k] = is_zero ? upstream[k] : dg;
    }
    store_row<kCount>(args.dx + offset + i, from);
    store_row<kCount>(args.dg + offset + i, to);
  });
  if (threadIdx.x != 0) return;
  const double dangle = static_cast<double>(slope.dangle) / static_cast<double>(arc.scale);
  args.dscale[blockIdx.x] = dangle * static_cast<double>(arc.ratio);
  args.dbias[blockIdx.x] = dangle;
}

}  // namespace

template <typename T>
cudaError_t geodesic_step(const GeodesicRows<T>& args, const GeodesicParameters& parameters,
                          std::int64_t rows, std::int64_t width, cudaStream_t stream) {
  return with_vectors<T>(takes_vectors<T>(width, args.x, args.g, args.y), [&](auto count) {
    const auto staging = staging_of<T>(width, 2);
    return launch_blocks(geodesic_step_kernel<count, T>, rows, row_threads(width, count), staging,
                         stream, args, parameters, width, staging > 0);
  });
}

template <typename T>
cudaError_t geodesic_step_backward(const GeodesicGradientRows<T>& args,
                                   const GeodesicParameters& parameters, std::int64_t rows,
                                   std::int64_t width, cudaStream_t stream) {
  const bool vectors = takes_vectors<T>(width, args.dy, args.x, args.g, args.dx, args.dg);
  return with_vectors<T>(vectors, [&](auto count) {
    const auto staging = staging_of<T>(width, 3);
    return launch_blocks(geodesic_step_backward_kernel<count, T>, rows, row_threads(width, count),
                         staging, stream, args, parameters, width, staging > 0);
  });
}

#define EK_INSTANTIATE(T)                                                               \
  template cudaError_t geodesic_step(const GeodesicRows<T>&, const GeodesicParameters&, \
                                     std::int64_t, std::int64_t, cudaStream_t);         \
  template cudaError_t geodesic_step_backward(const GeodesicGradientRows<T>&,           \
                                              const GeodesicParameters&, std::int64_t,  \
                                              std::int64_t, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
