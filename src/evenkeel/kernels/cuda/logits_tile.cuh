// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "evenkeel/kernels/cuda/linear_cross_entropy.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

/// Cross entropy of rows of float and bfloat16: one block a row, exponentials in float. The first
/// pass keeps what fits of the row in shared memory for the second one, which writes the gradient.
namespace evenkeel::kernels::cuda {

inline constexpr int kLogitsThreads = 1024;

/// 2^x, and 0 where that is no normal number.
__device__ inline float power_of_two(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

/// A row between its parts on multiples of 16; values before and after them go one by one.
template <typename T>
struct LogitsPacks {
  T* row;
  int before, packs, singles;  // singles: values in no pack

  __device__ LogitsPacks(T* at, std::int64_t width) : row(at) {
    const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16 / sizeof(T));
    const auto columns = static_cast<int>(width);
    before = min(past == 0 ? 0 : kPack<T> - past, columns);
    packs = (columns - before) / kPack<T>;
    singles = columns - packs * kPack<T>;
  }
  __device__ T* pack(int p) const { return row + before + p * kPack<T>; }
  __device__ T* single(int k) const { return row + (k < before ? k : packs * kPack<T> + k); }
};

/// The softmax in powers of two: z = factor * u(logit), and e^z = 2^(power * u), with power > 0.
template <bool kHasCap>
struct LogitPowers {
  double factor;
  float power, input, slope;

  __device__ LogitPowers(double scale, double cap)
      : factor(kHasCap ? cap : scale),
        power(static_cast<float>(factor * 1.4426950408889634)),  // 1 / ln 2
        input(static_cast<float>(kHasCap ? scale / cap : 1)),
        slope(static_cast<float>(scale)) {}
  __device__ float of(float logit) const { return kHasCap ? tanhf(input * logit) : logit; }
  /// The derivative of z with respect to the logit.
  __device__ float slope_at(float u) const { return kHasCap ? slope * (1 - u * u) : slope; }
  /// z of 2^exponent. Rounding of `power` cancels.
  __device__ double z_of(double exponent) const {
    return power == 0 ? 0 : exponent * (factor / static_cast<double>(power));
  }
};

/// The largest exponent so far, and the sum of 2^(exponent - largest).
struct PowerSum {
  float largest = -FLT_MAX;   // finite, so that an exponent of -inf adds 0
  float sum = 0, excess = 0;  // excess: what rounding has added

  template <int kCount>
  __device__ void add(const float (&u)[kCount], float power) {
    float most = u[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) most = fmaxf(most, u[i]);
    most *= power;
    if (most > largest) {
      const float change = power_of_two(largest - most);
      sum *= change;
      excess *= change;
      largest = most;
    }
    float more = -excess;
#pragma unroll
    for (int i = 0; i < kCount; ++i) more += power_of_two(fmaf(u[i], power, -largest));
    const float total = sum + more;
    excess = (total - sum) - more;
    sum = total;
  }
};

struct AddValues {
  template <typename F>
  __device__ F operator()(F a, F b) const {
    return a + b;
  }
};
struct LargerValue {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// The values of all threads of the block, combined in a fixed order; the same for every thread.
/// \param none  the value of no thread
template <typename F, typename Combine>
__device__ F combine_block(F value, F none, const Combine& combine) {
  __shared__ F shared[kWarpThreads];
  const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
  const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
  const int warps = static_cast<int>(blockDim.x) / kWarpThreads;
  for (int half = kWarpThreads / 2; half > 0; half /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, half));
  }
  __syncthreads();  // the result of the last call may still be read
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  value = lane < warps ? shared[lane] : none;
  for (int half = kWarpThreads / 2; half > 0; half /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, half));
  }
  return value;
}

/// The first pass: exponents of all values of the row.
/// \param cached  the packs that `cache` holds, as many of the first ones
template <typename T, bool kHasCap>
__device__ PowerSum sum_powers(const LogitsPacks<T>& row, const LogitPowers<kHasCap>& powers,
                               uint4* cache, int cached) {
  constexpr int kAhead = 4;
  const auto threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  PowerSum sum;
  for (int first = me; first < row.packs; first += kAhead * threads) {
    RowPack<T> pack[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int p = first + k * threads;
      if (p < row.packs) pack[k] = RowPack<T>::load(row.pack(p));
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int p = first + k * threads;
      if (p >= row.packs) continue;
      if (p < cached) pack[k].store(reinterpret_cast<T*>(cache + p));
      float u[kPack<T>];
#pragma unroll
      for (int i = 0; i < kPack<T>; ++i) u[i] = powers.of(pack[k].at(i));
      sum.add(u, powers.power);
    }
  }
  if (me < row.singles) {
    const float u[1] = {powers.of(as_float(*row.single(me)))};
    sum.add(u, powers.power);
  }
  return sum;
}

/// The second pass: softmax * slope for all values of the row.
template <typename T, bool kHasCap>
__device__ void write_softmax(const LogitsPacks<T>& row, const LogitPowers<kHasCap>& powers,
                              float largest, float inverse_sum, uint4* cache, int cached) {
  const auto threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  const auto gradient = [&](float logit) {
    const float u = powers.of(logit);
    return power_of_two(fmaf(u, powers.power, -largest)) * inverse_sum * powers.slope_at(u);
  };
#pragma unroll 2
  for (int p = me; p < row.packs; p += threads) {
    const T* const from = p < cached ? reinterpret_cast<const T*>(cache + p) : row.pack(p);
    const auto pack = RowPack<T>::load(from);
    float value[kPack<T>];
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) value[i] = gradient(pack.at(i));
    RowPack<T>::of(value).store(row.pack(p));
  }
  if (me < row.singles) {
    T* const at = row.single(me);
    *at = rounded_value<T>(gradient(as_float(*at)));
  }
}

/// The losses of the row of this block.
template <typename T>
__device__ void write_losses(const LogitsRows<T>& args, double cross_entropy, double squared_lse) {
  args.losses[blockIdx.x] = cross_entropy;
  args.losses[gridDim.x + blockIdx.x] = squared_lse;
}

template <typename T, bool kHasCap>
__global__ void __launch_bounds__(kLogitsThreads)
    logits_kernel(LogitsRows<T> args, std::int64_t width, int cached) {
  extern __shared__ uint4 logits_cache[];
  const LogitsPacks<T> row(args.logits + blockIdx.x * args.stride, width);
  const auto threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  const std::int64_t target = args.targets[blockIdx.x];
  if (target < 0) {
    for (int p = me; args.with_gradient && p < row.packs; p += threads)
      RowPack<T>{}.store(row.pack(p));
    if (args.with_gradient && me < row.singles) *row.single(me) = rounded_value<T>(0);
    if (me == 0) write_losses(args, 0, 0);
    return;
  }
  const LogitPowers<kHasCap> powers(args.scale, args.cap);
  const bool is_token = target < width;  // else the loss is NaN
  const float chosen = is_token ? powers.of(as_float(row.row[target])) : NAN;
  const auto mine = sum_powers(row, powers, logits_cache, cached);
  const float largest = combine_block(mine.largest, -FLT_MAX, LargerValue{});
  const double part = static_cast<double>(mine.sum) - static_cast<double>(mine.excess);
  const double change = static_cast<double>(power_of_two(mine.largest - largest));
  const double sum = combine_block(part * change, 0.0, AddValues{});  // all have read the target
  double weight = 1;  // of the softmax in the gradient
  if (me == 0 || args.z_loss != 0) {
    const double lse = log(sum) + powers.z_of(static_cast<double>(largest));
    if (args.z_loss != 0) weight += 2 * args.z_loss * lse;
    if (me == 0) write_losses(args, lse - powers.factor * static_cast<double>(chosen), lse * lse);
  }
  if (!args.with_gradient) return;
  const auto inverse_sum = static_cast<float>(weight / sum);
  write_softmax(row, powers, largest, inverse_sum, logits_cache, cached);
  __syncthreads();  // the target's gradient is written twice
  if (me != 0 || !is_token) return;
  const float p = power_of_two(fmaf(chosen, powers.power, -largest)) * inverse_sum;
  row.row[target] = rounded_value<T>((p - 1) * powers.slope_at(chosen));
}

}  // namespace evenkeel::kernels::cuda
