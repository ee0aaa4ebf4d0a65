// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/cuda/row_common.cuh"
#include "evenkeel/kernels/cuda/tile_grid.cuh"
#include "evenkeel/kernels/reduction_order.h"

/// Heads of any width and on any address, in double: one warp a head.
namespace evenkeel::kernels::cuda {

inline constexpr int kHeadWarps = kThreads / kWarpThreads;

/// The sum over the lanes of a warp, in a binary tree; the same for every lane.
__device__ inline double head_total(double value) {
  for (int half = kWarpThreads / 2; half > 0; half /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, half);
  }
  return value;
}

/// The head of this warp; `is_valid` is the same for all its lanes.
template <typename T>
struct HeadPosition {
  std::int64_t token, head;
  bool is_valid;
  __device__ HeadPosition(const QkvRows<T>& args, const Heads<T>& part) {
    const std::int64_t number = blockIdx.x * std::int64_t{kHeadWarps} + threadIdx.x / kWarpThreads;
    token = number / part.count;
    head = number % part.count;
    is_valid = token < args.tokens;
  }
  /// The number of the head among all of q, k and v.
  __device__ std::int64_t in(const QkvRows<T>& args, const Heads<T>& part) const {
    return token * args.heads + part.first + head;
  }
};

/// A pair of values of a head, and of its angle.
struct DoublePair {
  double a, b;
  __device__ DoublePair rotated(double cosine, double sine) const {
    return {a * cosine - b * sine, b * cosine + a * sine};
  }
};

template <typename T>
__device__ DoublePair pair_at(const T* x, std::int64_t j, std::int64_t half) {
  return {load(x + j), load(x + j + half)};
}

/// \param direction  1, or -1 for the inverse rotation
template <typename T>
__device__ DoublePair rotated(const QkvRows<T>& args, const Heads<T>& part, DoublePair pair,
                              std::int64_t token, std::int64_t j, double direction) {
  if (part.cos_sin == nullptr) return pair;
  const auto* const row = part.cos_sin + token % args.positions * args.width;
  return pair.rotated(load(row + j), direction * load(row + args.width / 2 + j));
}

template <typename T>
__global__ void heads_kernel(QkvRows<T> args, Heads<T> part) {
  const HeadPosition<T> position(args, part);
  if (!position.is_valid) return;
  const auto half = args.width / 2;
  const T* const x = args.qkv + position.in(args, part) * args.width;
  T* const out = part.y + (position.token * part.count + position.head) * args.width;
  const std::int64_t lane = threadIdx.x % kWarpThreads;
  double rstd = 1;
  if (part.gain != nullptr) {
    double largest = sqrt(part.epsilon);  // squares of float64 rows must stay in range, too
    for (auto i = lane; i < args.width; i += kWarpThreads)
      largest = fmax(largest, fabs(load(x + i)));
    for (int step = kWarpThreads / 2; step > 0; step /= 2) {
      largest = fmax(largest, __shfl_xor_sync(0xffffffffU, largest, step));
    }
    const double scale =
        isfinite(largest) && largest > 0 ? ldexp(1.0, -min(max(ilogb(largest), -1022), 1022)) : 1.0;
    double squares = 0;
    for (auto i = lane; i < args.width; i += kWarpThreads) {
      const double scaled = load(x + i) * scale;
      squares += scaled * scaled;
    }
    const double mean = head_total(squares) / static_cast<double>(args.width);
    const double whole = mean + part.epsilon * scale * scale;
    rstd = whole == 0 ? 0 : scale / sqrt(whole);
    if (lane == 0) args.rstd[position.in(args, part)] = rstd;
  }
  for (auto j = lane; j < half; j += kWarpThreads) {
    DoublePair pair = pair_at(x, j, half);
    if (part.gain != nullptr) {
      pair = {pair.a * rstd * load(part.gain + j), pair.b * rstd * load(part.gain + j + half)};
    }
    pair = rotated(args, part, pair, position.token, j, 1);
    store(out + j, pair.a);
    store(out + j + half, pair.b);
  }
}

template <typename T>
__global__ void heads_backward_kernel(QkvRows<T> args, Heads<T> part) {
  const HeadPosition<T> position(args, part);
  if (!position.is_valid) return;
  const auto half = args.width / 2;
  const auto offset = position.in(args, part) * args.width;
  const T* const x = args.qkv + offset;
  const T* const in = part.dy + (position.token * part.count + position.head) * args.width;
  T* const out = args.dqkv + offset;
  const std::int64_t lane = threadIdx.x % kWarpThreads;
  const bool is_normed = part.gain != nullptr;
  const double rstd = is_normed ? args.rstd[position.in(args, part)] : 1;
  double dot = 0;
  for (auto j = lane; is_normed && j < half; j += kWarpThreads) {
    const DoublePair g = rotated(args, part, pair_at(in, j, half), position.token, j, -1);
    const DoublePair value = pair_at(x, j, half);
    dot += g.a * load(part.gain + j) * (value.a * rstd);
    dot += g.b * load(part.gain + j + half) * (value.b * rstd);
  }
  const double mean = head_total(dot) / static_cast<double>(args.width);
  for (auto j = lane; j < half; j += kWarpThreads) {
    DoublePair g = rotated(args, part, pair_at(in, j, half), position.token, j, -1);
    if (is_normed) {
      const DoublePair value = pair_at(x, j, half);
      g = {rstd * (g.a * load(part.gain + j) - value.a * rstd * mean),
           rstd * (g.b * load(part.gain + j + half) - value.b * rstd * mean)};
    }
    store(out + j, g.a);
    store(out + j + half, g.b);
  }
}

/// Gain gradients of a part of the heads: one thread a pair of columns.
template <typename T>
__global__ void heads_gain_kernel(QkvRows<T> args, Heads<T> part) {
  const auto half = args.width / 2, items = args.tokens * part.count;
  for (std::int64_t j = threadIdx.x; j < half; j += kThreads) {
    DoublePair sum = {0, 0};
    for (std::int64_t item = blockIdx.x; item < items; item += part.partials) {
      const std::int64_t token = item / part.count, head = item % part.count;
      const std::int64_t number = token * args.heads + part.first + head;
      const double rstd = args.rstd[number];
      const DoublePair g =
          rotated(args, part, pair_at(part.dy + item * args.width, j, half), token, j, -1);
      const DoublePair value = pair_at(args.qkv + number * args.width, j, half);
      sum.a += g.a * (value.a * rstd);
      sum.b += g.b * (value.b * rstd);
    }
    auto* const out = part.dgain + blockIdx.x * args.width;
    out[j] = static_cast<OpMathType<T>>(sum.a);
    out[j + half] = static_cast<OpMathType<T>>(sum.b);
  }
}

template <typename T>
cudaError_t norm_rope_by_element(const QkvRows<T>& args, cudaStream_t stream) {
  for (const auto& part : args.part) {
    const auto blocks = static_cast<unsigned>(blocks_of(args.tokens * part.count, kHeadWarps));
    heads_kernel<T><<<blocks, kThreads, 0, stream>>>(args, part);
  }
  return cudaGetLastError();
}

template <typename T>
cudaError_t norm_rope_backward_by_element(const QkvRows<T>& args, cudaStream_t stream) {
  for (const auto& part : args.part) {
    const auto blocks = static_cast<unsigned>(blocks_of(args.tokens * part.count, kHeadWarps));
    heads_backward_kernel<T><<<blocks, kThreads, 0, stream>>>(args, part);
    if (part.dgain == nullptr) continue;
    const auto partials = static_cast<unsigned>(part.partials);
    heads_gain_kernel<T><<<partials, kThreads, 0, stream>>>(args, part);
  }
  return cudaGetLastError();
}

}  // namespace evenkeel::kernels::cuda
