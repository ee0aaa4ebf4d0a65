// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>

#include "evenkeel/kernels/cuda/causal_attention.cuh"
#include "evenkeel/kernels/cuda/causal_attention_tile.cuh"

/// Device code of causal_attention.cuh for bfloat16: tiles of 64 positions in shared memory, and
/// their products on the tensor cores, mma.m16n8k16 of sm_80. Other processors have plain
/// code for each instruction.
///
/// A block has 4 warps. Warp w has the rows 16 w to 16 w + 15 of a product. Of each 16 x 8 part of
/// it, lane i has row i / 4 (values 0 and 1) and i / 4 + 8 (values 2 and 3), and the columns
/// 2 (i % 4) and 2 (i % 4) + 1.
namespace evenkeel::kernels::cuda {

constexpr int kMmaThreads = 128, kMmaTile = 64, kMmaRows = 16;
constexpr int kMmaParts = kMmaTile / 8;  // parts of a row of scores
constexpr int kMaxMmaWidth = 128;        // above it the registers do not hold the sums
constexpr float kLog2E = 1.4426950408889634F;

/// The distance of the rows of a tile, in values: no bank conflicts.
template <int kWidth>
constexpr int kMmaStride = kWidth + 8;
template <int kWidth>
constexpr int kMmaSize = kMmaTile * kMmaStride<kWidth>;

__device__ inline int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
/// The first row of this warp.
__device__ inline int warp_row() {
  return static_cast<int>(threadIdx.x) / 32 * kMmaRows;
}
/// Row `half` (0 or 1) of this lane in a tile, and its columns in part `part`.
__device__ inline int own_row(int half) {
  return warp_row() + lane() / 4 + 8 * half;
}
__device__ inline int own_column(int part) {
  return 8 * part + 2 * (lane() % 4);
}

/// Copies 16 bytes to shared memory, or zeros. wait_for_copies() ends it.
__device__ inline void start_copy(__nv_bfloat16* to, const __nv_bfloat16* from, bool is_value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_value ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
               : "memory");
#else
  Pack<__nv_bfloat16> pack{};
  if (is_value) pack = *reinterpret_cast<const Pack<__nv_bfloat16>*>(from);
  *reinterpret_cast<Pack<__nv_bfloat16>*>(to) = pack;
#endif
}
__device__ inline void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Starts to copy the positions [first, end) of a head into a tile, and zeros for the rest.
template <int kWidth>
__device__ void start_tile(const __nv_bfloat16* head, std::int64_t stride, std::int64_t first,
                           std::int64_t end, int width, __nv_bfloat16* to) {
  constexpr int kMany = Pack<__nv_bfloat16>::kCount, kPacks = kWidth / kMany;
  const __nv_bfloat16* const rows = head + first * stride;
  const int count = static_cast<int>(min(end - first, std::int64_t{kMmaTile}));
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(rows) % 16 == 0 && stride % kMany == 0 && width % kMany == 0;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kMmaTile * kPacks; i += kMmaThreads) {
    const int row = i / kPacks, column = i % kPacks * kMany;
    __nv_bfloat16* const target = to + row * kMmaStride<kWidth> + column;
    if (is_aligned) {
      const bool is_value = row < count && column < width;
      start_copy(target, is_value ? rows + row * stride + column : rows, is_value);
      continue;
    }
    Pack<__nv_bfloat16> pack{};
    for (int j = 0; j < kMany; ++j) {
      if (row < count && column + j < width) pack.value[j] = rows[row * stride + column + j];
    }
    *reinterpret_cast<Pack<__nv_bfloat16>*>(target) = pack;
  }
}

/// Two values in one register.
__device__ inline unsigned packed(float a, float b) {
  const auto pair = __floats2bfloat162_rn(a, b);
  unsigned bits;
  std::memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

/// Loads four 8 x 8 matrices: lane i gives the address of row i % 8 of matrix i / 8. Of each matrix
/// it gets the values 2 (i % 4) and 2 (i % 4) + 1 of row i / 4; if transposed, of column i / 4.
template <bool kIsTransposed>
__device__ void load_matrices(const __nv_bfloat16* row, unsigned (&out)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if constexpr (kIsTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(address)
                 : "memory");
  }
#else
  for (int m = 0; m < 4; ++m) {
    __nv_bfloat16 pair[2];
    for (int n = 0; n < 2; ++n) {
      const int along = 2 * (lane() % 4) + n, across = lane() / 4;
      const int from = kIsTransposed ? along : across, column = kIsTransposed ? across : along;
      const auto address =
          __shfl_sync(kAllLanes, reinterpret_cast<unsigned long long>(row), 8 * m + from);
      pair[n] = reinterpret_cast<const __nv_bfloat16*>(address)[column];
    }
    std::memcpy(&out[m], pair, sizeof(out[m]));
  }
#endif
}

/// Value n of a register of two.
__device__ inline float unpacked(unsigned bits, int n) {
  __nv_bfloat16 pair[2];
  std::memcpy(pair, &bits, sizeof(bits));
  return __bfloat162float(pair[n]);
}

/// sum += a b, a [16, 16], b [16, 8], with float32 sums.
__device__ inline void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0,
                                    unsigned b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  for (int k = 0; k < 4; ++k) {  // a quarter of the depth, as two pairs
    unsigned row[4];
    for (int n = 0; n < 4; ++n) row[n] = __shfl_sync(kAllLanes, a[n], lane() / 4 * 4 + k);
    for (int n = 0; n < 2; ++n) {
      const int column = (2 * (lane() % 4) + n) * 4 + k;
      const unsigned upper = __shfl_sync(kAllLanes, b0, column);
      const unsigned lower = __shfl_sync(kAllLanes, b1, column);
      for (int i = 0; i < 2; ++i) {
        sum[n] +=
            unpacked(row[0], i) * unpacked(upper, i) + unpacked(row[2], i) * unpacked(lower, i);
        sum[n + 2] +=
            unpacked(row[1], i) * unpacked(upper, i) + unpacked(row[3], i) * unpacked(lower, i);
      }
    }
  }
#endif
}

/// out = left right^T, of the rows of this warp in tile `left` and all rows of tile `right`.
template <int kWidth>
__device__ void multiply_tiles(const __nv_bfloat16* left, const __nv_bfloat16* right, int width,
                               float (&out)[kMmaParts][4]) {
  constexpr int kStride = kMmaStride<kWidth>;
  const int row = lane() % 8, first = lane() / 8 % 2 * 8, second = lane() / 16 * 8;
  const auto* const left_row = left + (warp_row() + row + first) * kStride + second;
  const auto* const right_row = right + (row + second) * kStride + first;
#pragma unroll
  for (int i = 0; i < kMmaParts * 4; ++i) out[i / 4][i % 4] = 0;
#pragma unroll
  for (int depth = 0; depth < kWidth; depth += 16) {
    if (depth >= width) continue;
    unsigned a[4];
    load_matrices<false>(left_row + depth, a);
#pragma unroll
    for (int part = 0; part < kMmaParts; part += 2) {
      unsigned b[4];
      load_matrices<false>(right_row + part * 8 * kStride + depth, b);
      multiply_add(out[part], a, b[0], b[1]);
      multiply_add(out[part + 1], a, b[2], b[3]);
    }
  }
}

/// Sums of this lane: rows of D values.
template <int kWidth>
struct MmaSums {
  float value[kWidth / 8][4];

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kWidth / 2; ++i) value[i / 4][i % 4] = 0;
  }
  __device__ void scale_row(int half, float factor) {
#pragma unroll
    for (int i = 0; i < kWidth / 8; ++i) {
      value[i][2 * half] *= factor;
      value[i][2 * half + 1] *= factor;
    }
  }
  /// Adds weights times the rows of a tile. The weights are rounded to bfloat16.
  __device__ void add(const float (&weights)[kMmaParts][4], const __nv_bfloat16* values,
                      int width) {
    constexpr int kStride = kMmaStride<kWidth>;
    const auto* const row = values + (lane() % 8 + lane() / 8 % 2 * 8) * kStride + lane() / 16 * 8;
#pragma unroll
    for (int part = 0; part < kMmaParts; part += 2) {
      const auto &left = weights[part], &right = weights[part + 1];
      const unsigned a[4] = {packed(left[0], left[1]), packed(left[2], left[3]),
                             packed(right[0], right[1]), packed(right[2], right[3])};
#pragma unroll
      for (int column = 0; column < kWidth; column += 16) {
        if (column >= width) continue;
        unsigned b[4];
        load_matrices<true>(row + part * 8 * kStride + column, b);
        multiply_add(value[column / 8], a, b[0], b[1]);
        multiply_add(value[column / 8 + 1], a, b[2], b[3]);
      }
    }
  }
  /// Stores the rows of this lane at the positions [first, end) of a head, times a factor.
  __device__ void store(const float (&factor)[2], __nv_bfloat16* head, std::int64_t stride,
                        std::int64_t first, std::int64_t end, int width) const {
    const bool has_pairs = reinterpret_cast<std::uintptr_t>(head) % 4 == 0 && stride % 2 == 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto position = first + own_row(half);
      if (position >= end) continue;
      __nv_bfloat16* const row = head + position * stride;
#pragma unroll
      for (int i = 0; i < kWidth / 8; ++i) {
        const float left = value[i][2 * half] * factor[half];
        const float right = value[i][2 * half + 1] * factor[half];
        const int column = own_column(i);
        if (has_pairs && column + 1 < width) {
          *reinterpret_cast<unsigned*>(row + column) = packed(left, right);
        } else {
          if (column < width) row[column] = __float2bfloat16_rn(left);
          if (column + 1 < width) row[column + 1] = __float2bfloat16_rn(right);
        }
      }
    }
  }
};

/// The keys of a tile that the two rows of this lane, which are queries, see.
__device__ inline void find_own_ranges(const QueryTile& tile, const AttentionSizes& sizes,
                                       std::int64_t k0, ColumnRange (&range)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
    range[half] = keys_of(tile.starts, tile.first + own_row(half), sizes, k0, kMmaTile);
}

/// Calls launch(std::integral_constant<int, W>) for the least W of 64 and 128 that holds width.
template <typename Launch>
cudaError_t with_mma_width(std::int64_t width, const Launch& launch) {
  if (width <= kMaxMmaWidth / 2) return launch(std::integral_constant<int, kMaxMmaWidth / 2>{});
  return launch(std::integral_constant<int, kMaxMmaWidth>{});
}

/// The kernels of causal_attention.cuh for bfloat16 and widths up to kMaxMmaWidth; the backward
/// pass without delta, which is given.
cudaError_t causal_attention_mma(const AttentionForward<__nv_bfloat16>& args,
                                 const AttentionSizes& sizes, cudaStream_t stream);
cudaError_t largest_scores_mma(const AttentionForward<__nv_bfloat16>& args,
                               const AttentionSizes& sizes, float* largest, cudaStream_t stream);
/// Whether heads of this width fit into the shared memory of a block in the backward pass.
bool takes_backward_mma(std::int64_t width);
cudaError_t causal_attention_backward_mma(const AttentionBackward<__nv_bfloat16>& args,
                                          const AttentionSizes& sizes, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
