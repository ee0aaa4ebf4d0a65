// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr int kWarp = 32, kWarps = kThreads / kWarp;

/// The sum over the lanes of a warp, in a binary tree; the same for every lane.
__device__ double over_warp(double value) {
  for (int half = kWarp / 2; half > 0; half /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, half);
  }
  return value;
}

/// Where the head of this warp stands; `is_there` is the same for all its lanes.
template <typename T>
struct Place {
  std::int64_t token, head;
  bool is_there;
  __device__ explicit Place(const Heads<T>& of) {
    const std::int64_t number = blockIdx.x * std::int64_t{kWarps} + threadIdx.x / kWarp;
    token = number / of.count;
    head = number % of.count;
    is_there = token < of.tokens;
  }
};

/// A pair of values of a head, and of its angle.
struct Pair {
  double a, b;
  __device__ Pair rotated(double cosine, double sine) const {
    return {a * cosine - b * sine, b * cosine + a * sine};
  }
};

template <typename T>
__device__ Pair pair_at(const T* x, std::int64_t j, std::int64_t half) {
  return {load(x + j), load(x + j + half)};
}

/// \param direction  1, or -1 for the inverse rotation
template <typename T>
__device__ Pair rotated(const Heads<T>& of, Pair pair, std::int64_t token, std::int64_t j,
                       double direction) {
  if (of.cos_sin == nullptr) return pair;
  const auto* const row = of.cos_sin + token % of.positions * of.width;
  return pair.rotated(load(row + j), direction * load(row + of.width / 2 + j));
}

template <typename T>
__global__ void forward_kernel(Heads<T> of, T* y, double epsilon) {
  const Place<T> at(of);
  if (!at.is_there) return;
  const auto half = of.width / 2;
  const T* const x = of.x + at.token * of.stride + at.head * of.width;
  T* const out = y + (at.token * of.count + at.head) * of.width;
  const std::int64_t lane = threadIdx.x % kWarp;
  double rstd = 1;
  if (of.gain != nullptr) {
    double largest = sqrt(epsilon);  // squares of float64 rows must stay in range, too
    for (auto i = lane; i < of.width; i += kWarp) largest = fmax(largest, fabs(load(x + i)));
    for (int step = kWarp / 2; step > 0; step /= 2) {
      largest = fmax(largest, __shfl_xor_sync(0xffffffffU, largest, step));
    }
    const double scale =
        isfinite(largest) && largest > 0 ? ldexp(1.0, -min(max(ilogb(largest), -1022), 1022)) : 1.0;
    double squares = 0;
    for (auto i = lane; i < of.width; i += kWarp) {
      const double scaled = load(x + i) * scale;
      squares += scaled * scaled;
    }
    const double mean = over_warp(squares) / static_cast<double>(of.width);
    const double whole = mean + epsilon * scale * scale;
    rstd = whole == 0 ? 0 : scale / sqrt(whole);
    if (lane == 0) of.rstd[at.token * of.rstd_stride + at.head] = rstd;
  }
  for (auto j = lane; j < half; j += kWarp) {
    Pair pair = pair_at(x, j, half);
    if (of.gain != nullptr) {
      pair = {pair.a * rstd * load(of.gain + j), pair.b * rstd * load(of.gain + j + half)};
    }
    pair = rotated(of, pair, at.token, j, 1);
    store(out + j, pair.a);
    store(out + j + half, pair.b);
  }
}

template <typename T>
__global__ void backward_kernel(Heads<T> of, const T* dy, T* dx) {
  const Place<T> at(of);
  if (!at.is_there) return;
  const auto half = of.width / 2;
  const auto offset = at.token * of.stride + at.head * of.width;
  const T* const x = of.x + offset;
  const T* const in = dy + (at.token * of.count + at.head) * of.width;
  T* const out = dx + offset;
  const std::int64_t lane = threadIdx.x % kWarp;
  const bool is_normed = of.gain != nullptr;
  const double rstd = is_normed ? of.rstd[at.token * of.rstd_stride + at.head] : 1;
  double dot = 0;
  for (auto j = lane; is_normed && j < half; j += kWarp) {
    const Pair g = rotated(of, pair_at(in, j, half), at.token, j, -1);
    const Pair value = pair_at(x, j, half);
    dot += g.a * load(of.gain + j) * (value.a * rstd);
    dot += g.b * load(of.gain + j + half) * (value.b * rstd);
  }
  const double mean = over_warp(dot) / static_cast<double>(of.width);
  for (auto j = lane; j < half; j += kWarp) {
    Pair g = rotated(of, pair_at(in, j, half), at.token, j, -1);
    if (is_normed) {
      const Pair value = pair_at(x, j, half);
      g = {rstd * (g.a * load(of.gain + j) - value.a * rstd * mean),
           rstd * (g.b * load(of.gain + j + half) - value.b * rstd * mean)};
    }
    store(out + j, g.a);
    store(out + j + half, g.b);
  }
}

/// Gain gradients of one block of tokens: one thread a pair of columns, tokens and heads in order.
template <typename T>
__global__ void gain_kernel(Heads<T> of, const T* dy, double* dgain, std::int64_t dgain_stride) {
  const auto half = of.width / 2;
  const std::int64_t begin = blockIdx.x * kBlockRows;
  const std::int64_t end = min(begin + kBlockRows, of.tokens);
  for (std::int64_t j = threadIdx.x; j < half; j += kThreads) {
    Pair sum = {0, 0};
    for (auto token = begin; token < end; ++token) {
      for (std::int64_t head = 0; head < of.count; ++head) {
        const double rstd = of.rstd[token * of.rstd_stride + head];
        const T* const in = dy + (token * of.count + head) * of.width;
        const Pair g = rotated(of, pair_at(in, j, half), token, j, -1);
        const Pair value = pair_at(of.x + token * of.stride + head * of.width, j, half);
        sum.a += g.a * (value.a * rstd);
        sum.b += g.b * (value.b * rstd);
      }
    }
    double* const out = dgain + blockIdx.x * dgain_stride;
    out[j] = sum.a;
    out[j + half] = sum.b;
  }
}

unsigned blocks_for(std::int64_t heads) {
  return static_cast<unsigned>(blocks_of(heads, kWarps));
}

}  // namespace

template <typename T>
cudaError_t norm_rope(const Heads<T>& of, T* y, double epsilon, cudaStream_t stream) {
  if (of.tokens == 0) return cudaSuccess;
  forward_kernel<T><<<blocks_for(of.tokens * of.count), kThreads, 0, stream>>>(of, y, epsilon);
  return cudaGetLastError();
}

template <typename T>
cudaError_t norm_rope_backward(const Heads<T>& of, const HeadsGradient<T>& gradients,
                                   cudaStream_t stream) {
  if (of.tokens == 0) return cudaSuccess;
  backward_kernel<T>
      <<<blocks_for(of.tokens * of.count), kThreads, 0, stream>>>(of, gradients.dy, gradients.dx);
  if (of.gain != nullptr) {
    const auto blocks = static_cast<unsigned>(blocks_of(of.tokens, kBlockRows));
    gain_kernel<T><<<blocks, kThreads, 0, stream>>>(of, gradients.dy, gradients.dgain,
                                                    gradients.dgain_stride);
  }
  return cudaGetLastError();
}

#define EK_INSTANTIATE(T)                                                                  \
  template cudaError_t norm_rope(const Heads<T>&, T*, double, cudaStream_t);         \
  template cudaError_t norm_rope_backward(const Heads<T>&, const HeadsGradient<T>&, \
                                              cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
