// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cuda/causal_attention.cuh"

/// What the kernels of causal_attention.cuh share with and without tensor cores: the mask, the
/// tiles of the blocks, and their launch. Query i sees the keys from the start of its document to
/// its own position. Starts out of range are clamped, so that each query sees a key.
namespace evenkeel::kernels::cuda {

/// The columns [begin, end) of a row of scores.
struct ColumnRange {
  int begin, end;
  __device__ bool has(int column) const { return column >= begin && column < end; }
};

/// The first key that query i sees.
/// \param starts  of the sequence, or null
__device__ inline std::int64_t first_key(const std::int32_t* starts, std::int64_t i,
                                         std::int64_t past_length) {
  if (starts == nullptr) return 0;
  const std::int64_t start = starts[i];
  return start < 0 ? 0 : min(start, past_length + i);
}

/// The keys of [k0, k0 + count) that query i sees, counted from k0; none for i >= queries.
__device__ inline ColumnRange keys_of(const std::int32_t* starts, std::int64_t i,
                                      const AttentionSizes& sizes, std::int64_t k0, int count) {
  if (i >= sizes.queries) return {0, 0};
  const auto past_length = sizes.keys - sizes.queries;
  const auto begin = first_key(starts, i, past_length) - k0, end = past_length + i + 1 - k0;
  return {static_cast<int>(max(std::int64_t{0}, begin)),
          static_cast<int>(max(std::int64_t{0}, min(end, std::int64_t{count})))};
}

/// The document starts of a sequence, or null.
__device__ inline const std::int32_t* starts_of(const std::int32_t* document_starts,
                                                const AttentionSizes& sizes, std::int64_t b) {
  return document_starts == nullptr ? nullptr : document_starts + b * sizes.queries;
}

/// The query tile of this block. Tiles with many keys come first.
struct QueryTile {
  std::int64_t b, h, kv_head, first;
  std::int64_t begin, end;     // the keys that any of its queries sees; begin is that of a tile
  const std::int32_t* starts;  // of its sequence, or null
  std::int64_t offset;         // of its sequence and head in [B, heads, queries]

  __device__ QueryTile(const AttentionSizes& sizes, const std::int32_t* document_starts, int size) {
    const std::int64_t all = sizes.batch * sizes.heads, block = blockIdx.x;
    const std::int64_t tiles = (sizes.queries + size - 1) / size;
    const auto past_length = sizes.keys - sizes.queries;
    b = block % all / sizes.heads;
    h = block % sizes.heads;
    kv_head = h / (sizes.heads / sizes.kv_heads);
    first = (tiles - 1 - block / all) * size;
    starts = starts_of(document_starts, sizes, b);
    begin = first_key(starts, first, past_length) / size * size;
    end = past_length + min(first + size, sizes.queries);
    offset = (b * sizes.heads + h) * sizes.queries;
  }
};

/// Whether a block of the current device may have so much dynamic shared memory, next to small
/// static arrays. A block has at most 163 KiB on compute capability 8.0, 227 KiB on 9.0 and 10.0,
/// and 99 KiB on 8.6, 8.9 and 12.0.
inline bool fits_in_block(std::size_t bytes) {
  constexpr std::size_t kStaticBytes = 4096;
  int device = 0, most = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) ==
             cudaSuccess &&
         bytes + kStaticBytes <= static_cast<std::size_t>(most);
}

/// Launches blocks of threads with `bytes` of dynamic shared memory.
template <typename... Parameters>
cudaError_t launch_tiles(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                         std::size_t bytes, cudaStream_t stream,
                         const std::type_identity_t<Parameters>&... arguments) {
  constexpr std::int64_t kMaxBlocks = 0x7fffffff;
  constexpr std::size_t kDefaultBytes = 48 * 1024;
  if (blocks > kMaxBlocks) return cudaErrorInvalidConfiguration;
  if (bytes > kDefaultBytes) {
    const auto error =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (error != cudaSuccess) return error;
  }
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), bytes, stream>>>(
      arguments...);
  return cudaGetLastError();
}

}  // namespace evenkeel::kernels::cuda
