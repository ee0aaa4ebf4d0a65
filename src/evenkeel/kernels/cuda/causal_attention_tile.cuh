// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/kernels/cuda/causal_attention_mask.cuh"

/// Device code that the kernels of causal_attention.cuh share: tiles in shared memory, their
/// products with plain arithmetic.
///
/// A block has 16 x 16 threads. Thread (r, c) has the rows r, r + 16, ... of a product of tiles; of
/// a tile of scores it has the columns c, c + 16, ..., of a tile of values packs of 16 bytes.
namespace evenkeel::kernels::cuda {

constexpr int kSide = 16, kTileThreads = kSide * kSide;
constexpr unsigned kAllLanes = 0xffffffffU;

/// 16 bytes, moved at once.
template <typename T>
struct alignas(16) Pack {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  T value[kCount];
};

/// The sizes of tiles: kTile positions of kWidth values, and kTile x kTile scores.
template <typename F, int kWidth, int kTile>
struct TileShape {
  static constexpr int kPositions = kTile;
  static constexpr int kOwn = kTile / kSide;  // rows, or columns of scores, of a thread
  static constexpr int kPack = Pack<F>::kCount;
  static constexpr int kStride = kWidth + kPack;           // of rows: no bank conflicts
  static constexpr int kScoreStride = kTile + kPack;       // of scores
  static constexpr int kPacks = kWidth / (kSide * kPack);  // packs of a row of values, of a thread
  static constexpr int kRowsSize = kTile * kStride;
  static constexpr int kScoresSize = kTile * kScoreStride;
  static_assert(kPacks > 0 && kOwn > 0 && kTile % kPack == 0);
};

__device__ inline int thread_row() {
  return static_cast<int>(threadIdx.x) / kSide;
}
__device__ inline int thread_column() {
  return static_cast<int>(threadIdx.x) % kSide;
}

__device__ inline float opmath(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ inline float opmath(float x) {
  return x;
}
__device__ inline double opmath(double x) {
  return x;
}

template <typename T, typename F>
__device__ T rounded(F x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

__device__ inline float exp_of(float x) {
  return expf(x);
}
__device__ inline double exp_of(double x) {
  return exp(x);
}
__device__ inline float log_of(float x) {
  return logf(x);
}
__device__ inline double log_of(double x) {
  return log(x);
}
__device__ inline float tanh_of(float x) {
  return tanhf(x);
}
__device__ inline double tanh_of(double x) {
  return tanh(x);
}

/// The larger one; `a` if b is NaN.
template <typename F>
__device__ F larger(F a, F b) {
  return b > a ? b : a;
}

/// softcap * tanh(score / softcap), or the score if softcap is 0.
template <typename F>
__device__ F capped(F score, F softcap) {
  return softcap > 0 ? softcap * tanh_of(score * (1 / softcap)) : score;
}

/// The slope of capped(), from its result.
template <typename F>
__device__ F cap_slope(F score, F softcap) {
  if (!(softcap > 0)) return 1;
  const F rest = score * (1 / softcap);
  return 1 - rest * rest;
}

/// Copies the positions [first, end) of a head, times a factor, into a tile. Positions after the
/// last, and columns up to the next whole pack, become 0.
template <typename Shape, typename T, typename F>
__device__ void load_rows(const T* head, std::int64_t stride, std::int64_t first, std::int64_t end,
                          int width, F factor, F* to) {
  constexpr int kMany = Pack<T>::kCount;
  const T* const rows = head + first * stride;
  const int count = static_cast<int>(min(end - first, std::int64_t{Shape::kPositions}));
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(rows) % 16 == 0 && stride % kMany == 0 && width % kMany == 0;
  if (is_aligned) {
    const int packs = width / kMany;
    for (int i = static_cast<int>(threadIdx.x); i < Shape::kPositions * packs; i += kTileThreads) {
      const int row = i / packs, column = i % packs * kMany;
      Pack<T> pack{};
      if (row < count) pack = *reinterpret_cast<const Pack<T>*>(rows + row * stride + column);
      auto* const target = reinterpret_cast<Pack<F>*>(to + row * Shape::kStride + column);
#pragma unroll
      for (int j = 0; j < kMany; j += Shape::kPack) {
        Pack<F> wide;
#pragma unroll
        for (int n = 0; n < Shape::kPack; ++n) wide.value[n] = opmath(pack.value[j + n]) * factor;
        target[j / Shape::kPack] = wide;
      }
    }
    return;
  }
  const int columns = (width + Shape::kPack - 1) / Shape::kPack * Shape::kPack;
  for (int i = static_cast<int>(threadIdx.x); i < Shape::kPositions * columns; i += kTileThreads) {
    const int row = i / columns, column = i % columns;
    const bool is_value = row < count && column < width;
    to[row * Shape::kStride + column] =
        is_value ? opmath(rows[row * stride + column]) * factor : F(0);
  }
}

/// Sets the columns of tiles to 0 that load_rows() does not write.
/// \param rows  of all tiles
template <typename Shape, typename F>
__device__ void clear_padding(F* tiles, int rows, int width) {
  const int begin = (width + Shape::kPack - 1) / Shape::kPack * Shape::kPack;
  for (int row = thread_row(); row < rows; row += kSide) {
    for (int column = begin + thread_column(); column < Shape::kStride; column += kSide)
      tiles[row * Shape::kStride + column] = 0;
  }
}

/// out = a b^T: the products of rows of two tiles.
template <typename Shape, typename F>
__device__ void multiply_rows(const F* a, const F* b, int width,
                              F (&out)[Shape::kOwn][Shape::kOwn]) {
  constexpr int kOwn = Shape::kOwn, kPack = Shape::kPack;
  const F* const left_row = a + thread_row() * Shape::kStride;
  const F* const right_row = b + thread_column() * Shape::kStride;
#pragma unroll
  for (int i = 0; i < kOwn * kOwn; ++i) out[i / kOwn][i % kOwn] = 0;
#pragma unroll 2
  for (int column = 0; column < width; column += kPack) {
    Pack<F> left[kOwn], right[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const auto offset = i * kSide * Shape::kStride + column;
      left[i] = *reinterpret_cast<const Pack<F>*>(left_row + offset);
      right[i] = *reinterpret_cast<const Pack<F>*>(right_row + offset);
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
#pragma unroll
        for (int n = 0; n < kPack; ++n) out[i][j] += left[i].value[n] * right[j].value[n];
      }
    }
  }
}

/// The rows of a product of scores and values of a thread.
template <typename Shape, typename F>
struct OwnRows {
  Pack<F> value[Shape::kOwn][Shape::kPacks];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < Shape::kOwn * Shape::kPacks; ++i)
      value[i / Shape::kPacks][i % Shape::kPacks] = {};
  }
  __device__ void scale_row(int i, F factor) {
#pragma unroll
    for (int j = 0; j < Shape::kPacks; ++j) {
#pragma unroll
      for (int n = 0; n < Shape::kPack; ++n) value[i][j].value[n] *= factor;
    }
  }
  __device__ void add(int i, F weight, const Pack<F> (&values)[Shape::kPacks]) {
#pragma unroll
    for (int j = 0; j < Shape::kPacks; ++j) {
#pragma unroll
      for (int n = 0; n < Shape::kPack; ++n) value[i][j].value[n] += weight * values[j].value[n];
    }
  }
  /// Stores row i of the thread, rounded.
  template <typename T>
  __device__ void store(int i, F factor, T* row, int width) const {
#pragma unroll
    for (int j = 0; j < Shape::kPacks; ++j) {
      const int column = (j * kSide + thread_column()) * Shape::kPack;
#pragma unroll
      for (int n = 0; n < Shape::kPack; ++n) {
        if (column + n < width) row[column + n] = rounded<T>(value[i][j].value[n] * factor);
      }
    }
  }
};

/// sums += scores values. A row adds only the columns of its range, so that 0 * NaN is not added.
template <typename Shape, typename F>
__device__ void add_product(const F* scores, const F* values,
                            const ColumnRange (&range)[Shape::kOwn], OwnRows<Shape, F>& sums) {
  constexpr int kPack = Shape::kPack;
  const F* const score_row = scores + thread_row() * Shape::kScoreStride;
  const F* const value_row = values + thread_column() * kPack;
  for (int first = 0; first < Shape::kPositions; first += kPack) {
    Pack<F> weight[Shape::kOwn];
#pragma unroll
    for (int i = 0; i < Shape::kOwn; ++i) {
      weight[i] =
          *reinterpret_cast<const Pack<F>*>(score_row + first + i * kSide * Shape::kScoreStride);
    }
#pragma unroll
    for (int n = 0; n < kPack; ++n) {
      Pack<F> row[Shape::kPacks];
#pragma unroll
      for (int j = 0; j < Shape::kPacks; ++j) {
        row[j] = *reinterpret_cast<const Pack<F>*>(value_row + (first + n) * Shape::kStride +
                                                   j * kSide * kPack);
      }
#pragma unroll
      for (int i = 0; i < Shape::kOwn; ++i) {
        if (range[i].has(first + n)) sums.add(i, weight[i].value[n], row);
      }
    }
  }
}

/// The keys of a tile that each row of a thread sees.
template <typename Shape>
__device__ void find_ranges(const QueryTile& tile, const AttentionSizes& sizes, std::int64_t k0,
                            ColumnRange (&range)[Shape::kOwn]) {
#pragma unroll
  for (int i = 0; i < Shape::kOwn; ++i) {
    range[i] =
        keys_of(tile.starts, tile.first + thread_row() + i * kSide, sizes, k0, Shape::kPositions);
  }
}

/// The maximum, or the sum, over the 16 threads of a row; the same for each of them.
template <typename F>
__device__ F row_maximum(F value) {
#pragma unroll
  for (int step = kSide / 2; step > 0; step /= 2)
    value = larger(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}
template <typename F>
__device__ F row_sum(F value) {
#pragma unroll
  for (int step = kSide / 2; step > 0; step /= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

/// Calls launch(std::integral_constant<int, W>) for the least W of 64, 128 and 256 that holds
/// width; of bfloat16 no narrow heads come here.
template <typename T, typename Launch>
cudaError_t with_width(std::int64_t width, const Launch& launch) {
  if constexpr (!std::is_same_v<T, __nv_bfloat16>) {
    if (width <= 64) return launch(std::integral_constant<int, 64>{});
  }
  if (width <= 128) return launch(std::integral_constant<int, 128>{});
  if (width <= kMaxHeadWidth) return launch(std::integral_constant<int, 256>{});
  return cudaErrorInvalidValue;
}

}  // namespace evenkeel::kernels::cuda
