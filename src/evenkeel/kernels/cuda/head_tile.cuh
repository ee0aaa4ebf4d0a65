// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/cuda/row_factor.cuh"
#include "evenkeel/kernels/cuda/row_tile.cuh"

/// Heads in registers: each thread holds a pack of the first half of a head, and the pack of the
/// second half that is rotated with it.
namespace evenkeel::kernels::cuda {

inline constexpr int kHeadThreads = 256;  // a block

/// The threads of a head, a power of two; 0 where too many would be needed, or halves are no packs.
template <typename T>
int threads_of_head(std::int64_t width) {
  constexpr std::int64_t kPair = 2 * kPack<T>;
  if (std::is_same_v<T, double> || width % kPair != 0 || width > kWarpThreads * kPair) return 0;
  int threads = 1;
  while (threads * kPair < width) threads *= 2;
  return threads;
}

/// Where the blocks of a kernel work.
struct HeadGrid {
  int threads;    // of a head
  int blocks[3];  // of q, of k and of v, in this order

  int all() const { return blocks[0] + blocks[1] + blocks[2]; }
};

/// The part of a block, and its number among the blocks of the part.
struct HeadBlock {
  int part, number, blocks;

  __device__ static HeadBlock of(const HeadGrid& grid) {
    const int block = static_cast<int>(blockIdx.x), before = grid.blocks[0] + grid.blocks[1];
    if (block < grid.blocks[0]) return {0, block, grid.blocks[0]};
    if (block < before) return {1, block - grid.blocks[0], grid.blocks[1]};
    return {2, block - before, grid.blocks[2]};
  }
};

/// The place of a thread in its head, and the head, which moves on without divisions.
struct HeadCursor {
  std::int64_t token, turns;  // turns: of all threads of the warp
  int head, position, lane, width;
  int count, positions, head_step, token_step;
  bool is_held;  // whether this thread has packs

  template <typename T>
  __device__ static HeadCursor of(const QkvRows<T>& args, const HeadBlock& of, int threads) {
    const int groups = kHeadThreads / threads, warp = static_cast<int>(threadIdx.x) / kWarpThreads;
    const int lane = static_cast<int>(threadIdx.x) % threads;
    const int step = of.blocks * groups, width = static_cast<int>(args.width);
    const int count = static_cast<int>(args.part[of.part].count);
    const std::int64_t first = std::int64_t{of.number} * groups;
    const std::int64_t item = first + static_cast<int>(threadIdx.x) / threads;
    const std::int64_t after = args.tokens * count - first - warp * (kWarpThreads / threads);
    return {.token = item / count,
            .turns = after <= 0 ? 0 : (after - 1) / step + 1,
            .head = static_cast<int>(item % count),
            .position = static_cast<int>(item / count % args.positions),
            .lane = lane,
            .width = width,
            .count = count,
            .positions = static_cast<int>(args.positions),
            .head_step = step % count,
            .token_step = step / count,
            .is_held = lane * kPack<T> * 2 < width};
  }
  __device__ void advance() {
    const int carry = head + head_step >= count ? 1 : 0;
    head += head_step - carry * count;
    token += token_step + carry;
    position += token_step + carry;
    if (position >= positions) position %= positions;
  }
};

/// Values of a head that are rotated together.
struct HeadPair {
  float a, b;
};

/// \param s  the sine, or minus it for the inverse rotation
__device__ inline HeadPair rotated(HeadPair x, float c, float s) {
  return {fmaf(x.a, c, -(x.b * s)), fmaf(x.b, c, x.a * s)};
}

/// Two packs of a head.
template <typename T>
struct HeadTile {
  RowPack<T> a, b;

  /// \param head  the head's first value
  __device__ void load(const T* head, int width, int lane, bool is_held) {
    a = b = {};
    if (!is_held) return;
    a = RowPack<T>::load(head + lane * kPack<T>);
    b = RowPack<T>::load(head + width / 2 + lane * kPack<T>);
  }
  __device__ void store(T* head, int width, int lane, bool is_held) const {
    if (!is_held) return;
    a.store(head + lane * kPack<T>);
    b.store(head + width / 2 + lane * kPack<T>);
  }
  __device__ HeadPair at(int i) const { return {a.at(i), b.at(i)}; }

  /// Each pair becomes pair_of(i), rounded to T.
  template <typename PairOf>
  __device__ void assign(const PairOf& pair_of) {
    float first[kPack<T>], second[kPack<T>];
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      const HeadPair pair = pair_of(i);
      first[i] = pair.a;
      second[i] = pair.b;
    }
    a = RowPack<T>::of(first);
    b = RowPack<T>::of(second);
  }
};

/// The sum of the squares of the values that a thread holds.
template <typename T>
__device__ double scaled_head_squares(const HeadTile<T>& x, float least) {
  return scaled_squares(least, [&](float scale) {
    float sum_a = 0, sum_b = 0;
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      const HeadPair pair = x.at(i);
      sum_a = fmaf(pair.a * scale, pair.a * scale, sum_a);
      sum_b = fmaf(pair.b * scale, pair.b * scale, sum_b);
    }
    return sum_a + sum_b;
  });
}

/// Floats of the two packs of a thread.
template <typename T>
struct HeadVector {
  float a[kPack<T>], b[kPack<T>];

  __device__ void fill(float value) {
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) a[i] = b[i] = value;
  }
  template <typename PairOf>
  __device__ void set(const PairOf& pair_of) {
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) {
      const HeadPair pair = pair_of(i);
      a[i] = pair.a;
      b[i] = pair.b;
    }
  }
  /// Cosines and sines of a position.
  /// \param from  [2, width / 2], on a multiple of 16
  __device__ void load(const float* from, int width, int lane, bool is_held) {
    if (!is_held) return fill(0);
#pragma unroll
    for (int i = 0; i < kPack<T>; i += 4) {
      const auto first = RowPack<float>::load(from + lane * kPack<T> + i);
      const auto second = RowPack<float>::load(from + width / 2 + lane * kPack<T> + i);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        a[i + k] = first.at(k);
        b[i + k] = second.at(k);
      }
    }
  }
};

/// A gain in shared memory. The threads of all heads of a block read it.
template <typename T>
struct SharedHeadVector {
  static constexpr int kFours = kPack<T> / 4;  // of 4 values, in a pack
  using Memory = float4[2 * kFours * kWarpThreads];
  const float4* values;  // [2, kFours, threads]

  /// All threads of the block call it, and __syncthreads() next.
  /// \param from  [width] on any address, or null: all values are 1
  __device__ static SharedHeadVector of(Memory& memory, const float* from, int width, int threads) {
    auto* const to = reinterpret_cast<float*>(memory);
    const int half = threads * kPack<T>;  // or more than half of the width
    for (int i = static_cast<int>(threadIdx.x); i < 2 * half; i += kHeadThreads) {
      const int column = i % half, side = i / half;
      const int four = (side * kFours + column % kPack<T> / 4) * threads + column / kPack<T>;
      const bool is_given = from != nullptr && column < width / 2;
      to[4 * four + i % 4] = is_given ? from[side * (width / 2) + column] : 1;
    }
    return {memory};
  }
  __device__ HeadPair at(int i, int lane, int threads) const {
    return {component(values[lane + i / 4 * threads], i % 4),
            component(values[lane + (kFours + i / 4) * threads], i % 4)};
  }
};

}  // namespace evenkeel::kernels::cuda
