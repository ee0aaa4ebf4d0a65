// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/reduction_order.h"

namespace evenkeel::kernels::cuda {

namespace {

constexpr int kWarp = 32, kWarps = kThreads / kWarp;

/// The sum over the lanes of a warp, in a binary tree; the same for every lane.
__device__ double warp_sum(double value) {
  for (int half = kWarp / 2; half > 0; half /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, half);
  }
  return value;
}

/// The head of this warp; `is_valid` is the same for all its lanes.
template <typename T>
struct HeadPosition {
  std::int64_t token, head;
  bool is_valid;
  __device__ explicit HeadPosition(const Heads<T>& args) {
    const std::int64_t number = blockIdx.x * std::int64_t{kWarps} + threadIdx.x / kWarp;
    token = number / args.count;
    head = number % args.count;
    is_valid = token < args.tokens;
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
__device__ Pair rotated(const Heads<T>& args, Pair pair, std::int64_t token, std::int64_t j,
                        double direction) {
  if (args.cos_sin == nullptr) return pair;
  const auto* const row = args.cos_sin + token % args.positions * args.width;
  return pair.rotated(load(row + j), direction * load(row + args.width / 2 + j));
}

template <typename T>
__global__ void forward_kernel(Heads<T> args, T* y, double epsilon) {
  const HeadPosition<T> position(args);
  if (!position.is_valid) return;
  const auto half = args.width / 2;
  const T* const x = args.x + position.token * args.stride + position.head * args.width;
  T* const out = y + (position.token * args.count + position.head) * args.width;
  const std::int64_t lane = threadIdx.x % kWarp;
  double rstd = 1;
  if (args.gain != nullptr) {
    double largest = sqrt(epsilon);  // squares of float64 rows must stay in range, too
    for (auto i = lane; i < args.width; i += kWarp) largest = fmax(largest, fabs(load(x + i)));
    for (int step = kWarp / 2; step > 0; step /= 2) {
      largest = fmax(largest, __shfl_xor_sync(0xffffffffU, largest, step));
    }
    const double scale =
        isfinite(largest) && largest > 0 ? ldexp(1.0, -min(max(ilogb(largest), -1022), 1022)) : 1.0;
    double squares = 0;
    for (auto i = lane; i < args.width; i += kWarp) {
      const double scaled = load(x + i) * scale;
      squares += scaled * scaled;
    }
    const double mean = warp_sum(squares) / static_cast<double>(args.width);
    const double whole = mean + epsilon * scale * scale;
    rstd = whole == 0 ? 0 : scale / sqrt(whole);
    if (lane == 0) args.rstd[position.token * args.rstd_stride + position.head] = rstd;
  }
  for (auto j = lane; j < half; j += kWarp) {
    Pair pair = pair_at(x, j, half);
    if (args.gain != nullptr) {
      pair = {pair.a * rstd * load(args.gain + j), pair.b * rstd * load(args.gain + j + half)};
    }
    pair = rotated(args, pair, position.token, j, 1);
    store(out + j, pair.a);
    store(out + j + half, pair.b);
  }
}

template <typename T>
__global__ void backward_kernel(Heads<T> args, const T* dy, T* dx) {
  const HeadPosition<T> position(args);
  if (!position.is_valid) return;
  const auto half = args.width / 2;
  const auto offset = position.token * args.stride + position.head * args.width;
  const T* const x = args.x + offset;
  const T* const in = dy + (position.token * args.count + position.head) * args.width;
  T* const out = dx + offset;
  const std::int64_t lane = threadIdx.x % kWarp;
  const bool is_normed = args.gain != nullptr;
  const double rstd = is_normed ? args.rstd[position.token * args.rstd_stride + position.head] : 1;
  double dot = 0;
  for (auto j = lane; is_normed && j < half; j += kWarp) {
    const Pair g = rotated(args, pair_at(in, j, half), position.token, j, -1);
    const Pair value = pair_at(x, j, half);
    dot += g.a * load(args.gain + j) * (value.a * rstd);
    dot += g.b * load(args.gain + j + half) * (value.b * rstd);
  }
  const double mean = warp_sum(dot) / static_cast<double>(args.width);
  for (auto j = lane; j < half; j += kWarp) {
    Pair g = rotated(args, pair_at(in, j, half), position.token, j, -1);
    if (is_normed) {
      const Pair value = pair_at(x, j, half);
      g = {rstd * (g.a * load(args.gain + j) - value.a * rstd * mean),
           rstd * (g.b * load(args.gain + j + half) - value.b * rstd * mean)};
    }
    store(out + j, g.a);
    store(out + j + half, g.b);
  }
}

/// Gain gradients of one block of tokens: one thread a pair of columns, tokens and heads in order.
template <typename T>
__global__ void gain_kernel(Heads<T> args, const T* dy, double* dgain, std::int64_t dgain_stride) {
  const auto half = args.width / 2;
  const std::int64_t begin = blockIdx.x * kBlockRows;
  const std::int64_t end = min(begin + kBlockRows, args.tokens);
  for (std::int64_t j = threadIdx.x; j < half; j += kThreads) {
    Pair sum = {0, 0};
    for (auto token = begin; token < end; ++token) {
      for (std::int64_t head = 0; head < args.count; ++head) {
        const double rstd = args.rstd[token * args.rstd_stride + head];
        const T* const in = dy + (token * args.count + head) * args.width;
        const Pair g = rotated(args, pair_at(in, j, half), token, j, -1);
        const Pair value = pair_at(args.x + token * args.stride + head * args.width, j, half);
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
cudaError_t norm_rope(const Heads<T>& args, T* y, double epsilon, cudaStream_t stream) {
  if (args.tokens == 0) return cudaSuccess;
  forward_kernel<T>
      <<<blocks_for(args.tokens * args.count), kThreads, 0, stream>>>(args, y, epsilon);
  return cudaGetLastError();
}

template <typename T>
cudaError_t norm_rope_backward(const Heads<T>& args, const HeadsGradient<T>& gradients,
                               cudaStream_t stream) {
  if (args.tokens == 0) return cudaSuccess;
  backward_kernel<T><<<blocks_for(args.tokens * args.count), kThreads, 0, stream>>>(
      args, gradients.dy, gradients.dx);
  if (args.gain != nullptr) {
    const auto blocks = static_cast<unsigned>(blocks_of(args.tokens, kBlockRows));
    gain_kernel<T><<<blocks, kThreads, 0, stream>>>(args, gradients.dy, gradients.dgain,
                                                    gradients.dgain_stride);
  }
  return cudaGetLastError();
}

#define EK_INSTANTIATE(T)                                                    \
  template cudaError_t norm_rope(const Heads<T>&, T*, double, cudaStream_t); \
  template cudaError_t norm_rope_backward(const Heads<T>&, const HeadsGradient<T>&, cudaStream_t);
EK_INSTANTIATE(double)
EK_INSTANTIATE(float)
EK_INSTANTIATE(__nv_bfloat16)
#undef EK_INSTANTIATE

}  // namespace evenkeel::kernels::cuda
