// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cuda/tile_grid.cuh"

/// Device code on rows that stay in registers: each thread holds some columns, as packs of 16
/// bytes. One warp to 16 warps hold a row; a block holds several narrow rows at once. Arithmetic is
/// in float.
namespace evenkeel::kernels::cuda {

/// The place of a thread in its row, and of the row in the block. The packs of a warp are
/// neighbours: those of a thread are first, first + 32, ...
struct TileThread {
  int lane, row_threads, group;
  int first, held;  // packs
  int width;

  template <typename T, int kPacks>
  __device__ static TileThread of(const TileGrid& grid) {
    const int group = static_cast<int>(threadIdx.x) / grid.row_threads;
    const int lane = static_cast<int>(threadIdx.x) % grid.row_threads;
    const int first = lane / kWarpThreads * (kWarpThreads * kPacks) + lane % kWarpThreads;
    const int after = grid.width / kPack<T> - first;
    return {.lane = lane,
            .row_threads = grid.row_threads,
            .group = group,
            .first = first,
            .held = after <= 0 ? 0 : min((after - 1) / kWarpThreads + 1, kPacks),
            .width = grid.width};
  }
};

/// The first rows of a block, and the distance to its next ones.
__device__ inline std::int64_t first_row(const TileGrid& grid) {
  return static_cast<std::int64_t>(blockIdx.x) * grid.groups;
}
__device__ inline std::int64_t row_step(const TileGrid& grid) {
  return static_cast<std::int64_t>(gridDim.x) * grid.groups;
}

__device__ inline float as_float(float value) {
  return value;
}
__device__ inline float as_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

/// The value, rounded to T.
template <typename T>
__device__ T rounded_value(float value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else {
    return __float2bfloat16_rn(value);
  }
}

/// The values in 16 bytes.
template <typename T>
struct RowPack {
  std::uint32_t word[4];

  __device__ float at(int i) const {
    if constexpr (std::is_same_v<T, float>) {
      return __uint_as_float(word[i]);
    } else {
      return __uint_as_float(i % 2 == 0 ? word[i / 2] << 16 : word[i / 2] & 0xffff0000U);
    }
  }
  /// The values, rounded to T.
  __device__ static RowPack of(const float (&value)[kPack<T>]) {
    RowPack pack;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        pack.word[i] = __float_as_uint(value[i]);
      } else {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
        memcpy(&pack.word[i], &pair, sizeof(pair));
      }
    }
    return pack;
  }
  /// Hides the values from the compiler, so that it unpacks them again later instead of keeping the
  /// floats in registers.
  __device__ void forget() {
#pragma unroll
    for (int i = 0; i < 4; ++i) asm volatile("" : "+r"(word[i]));
  }
  /// \param to  a multiple of 16
  __device__ void store(T* to) const {
    *reinterpret_cast<uint4*>(to) = {word[0], word[1], word[2], word[3]};
  }
  __device__ static RowPack load(const T* from) {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    return {{raw.x, raw.y, raw.z, raw.w}};
  }
};

/// Calls work(p, i) for value i of each pack p.
template <typename T, int kPacks, typename Work>
__device__ void for_each_value(const Work& work) {
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) work(p, i);
  }
}

/// The same for the first `held` packs.
template <typename T, int kPacks, typename Work>
__device__ void for_each_held_value(int held, const Work& work) {
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (p >= held) continue;
#pragma unroll
    for (int i = 0; i < kPack<T>; ++i) work(p, i);
  }
}

/// The columns of one row that a thread holds; zeros where it holds none.
template <typename T, int kPacks>
struct Tile {
  RowPack<T> pack[kPacks];

  __device__ float at(int p, int i) const { return pack[p].at(i); }

  /// \param rows  [rows, width]; a row at or above `count` reads as zeros
  __device__ void load(const T* rows, std::int64_t row, std::int64_t count, const TileThread& of) {
    const T* const from = rows + row * of.width + of.first * kPack<T>;
    const int held = row < count ? of.held : 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      pack[p] = {};
      if (p < held) pack[p] = RowPack<T>::load(from + p * (kWarpThreads * kPack<T>));
    }
  }
  __device__ void forget() {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) pack[p].forget();
  }
  /// Each value becomes value_of(p, i), rounded to T.
  template <typename ValueOf>
  __device__ void assign(const ValueOf& value_of) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      float value[kPack<T>];
#pragma unroll
      for (int i = 0; i < kPack<T>; ++i) value[i] = value_of(p, i);
      pack[p] = RowPack<T>::of(value);
    }
  }
  __device__ void store(T* rows, std::int64_t row, std::int64_t count, const TileThread& of) const {
    T* const to = rows + row * of.width + of.first * kPack<T>;
    const int held = row < count ? of.held : 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (p < held) pack[p].store(to + p * (kWarpThreads * kPack<T>));
    }
  }
};

/// Sums over rows for the columns that a thread holds.
template <typename T, int kPacks>
struct TileSums {
  float value[kPacks][kPack<T>];

  __device__ void clear() {
    for_each_value<T, kPacks>([&](int p, int i) { value[p][i] = 0; });
  }
};

__device__ inline float component(const float4& four, int i) {
  return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
}

/// A gain or a bias in shared memory, for all rows of a block: 4 values of each pack, then the next
/// 4, so that the threads of a warp read neighbouring values.
template <typename T, int kPacks>
struct SharedVector {
  const float4* values;
  int stride;

  /// Fills `memory`, [columns]. All threads of the block call it, and __syncthreads() next.
  /// \param from  [width] on any address, or null: all values are `otherwise`
  __device__ static SharedVector of(float4* memory, const float* from, float otherwise,
                                    const TileThread& thread) {
    const int stride = kPacks * thread.row_threads;
    auto* const to = reinterpret_cast<float*>(memory);
    const auto threads = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < stride * kPack<T>; i += threads) {
      const int place = ((i % kPack<T>) / 4 * stride + i / kPack<T>)*4 + i % 4;
      to[place] = from != nullptr && i < thread.width ? from[i] : otherwise;
    }
    return {memory + thread.first, stride};
  }
  __device__ float at(int p, int i) const {
    return component(values[i / 4 * stride + p * kWarpThreads], i % 4);
  }
};

template <typename F>
__device__ F warp_total(F value, int threads = kWarpThreads) {
  for (int half = threads / 2; half > 0; half /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, half);
  }
  return value;
}

/// Sums over the threads of a row, in binary trees; the same for each of these threads. All threads
/// of the block call it.
template <typename F, int kCount>
struct TileReduction {
  using Shared = F[2][kCount][kTileWarps];
  Shared& shared;
  int turn = 0;  // two buffers in turn, so that one barrier a call is enough

  __device__ void operator()(F (&value)[kCount], const TileThread& of) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) value[k] = warp_total(value[k]);
    if (of.row_threads == kWarpThreads) return;
    const int warp = static_cast<int>(threadIdx.x) / kWarpThreads, lane = of.lane % kWarpThreads;
    if (lane == 0) {
#pragma unroll
      for (int k = 0; k < kCount; ++k) shared[turn][k][warp] = value[k];
    }
    __syncthreads();
    const int warps = of.row_threads / kWarpThreads, first = of.group * warps;
    int lanes = 2;
    while (lanes < warps) lanes *= 2;
    const int mine = lane & (lanes - 1);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      value[k] = warp_total(mine < warps ? shared[turn][k][first + mine] : F{0}, lanes);
    }
    turn ^= 1;
  }
};

/// Adds the sums of the rows of a block, in order, and writes the totals. All threads of the block
/// call it.
/// \param shared    [threads]
/// \param partials  [blocks, width], on a multiple of 16; or null
template <typename T, int kPacks>
__device__ void store_block_sums(const TileSums<T, kPacks>& sums, float4* shared, float* partials,
                                 const TileThread& of, const TileGrid& grid) {
  if (partials == nullptr) return;
  float* const to = partials + static_cast<std::int64_t>(blockIdx.x) * grid.width;
  const auto threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int four = 0; four < kPacks * kPack<T>; four += 4) {
    const int p = four / kPack<T>, i = four % kPack<T>;
    const float* const mine = sums.value[p] + i;
    float4 sum = {mine[0], mine[1], mine[2], mine[3]};
    if (grid.groups > 1) {
      __syncthreads();  // the last values may still be read
      shared[me] = sum;
      __syncthreads();
      for (int k = me + of.row_threads; of.group == 0 && k < threads; k += of.row_threads) {
        const float4 more = shared[k];
        sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
      }
    }
    if (of.group != 0 || p >= of.held) continue;
    *reinterpret_cast<float4*>(to + (of.first + p * kWarpThreads) * kPack<T> + i) = sum;
  }
}

}  // namespace evenkeel::kernels::cuda
