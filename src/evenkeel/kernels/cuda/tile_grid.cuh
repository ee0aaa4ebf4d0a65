// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Grids of kernels on tiles (row_tile.cuh), and their launch.
namespace evenkeel::kernels::cuda {

inline constexpr int kWarpThreads = 32;
inline constexpr int kTileThreads = 512;  // the largest block: 128 registers a thread
inline constexpr int kTileWarps = kTileThreads / kWarpThreads;

/// Threads of a backward pass that a multiprocessor holds, for 96 or 128 registers a thread.
template <typename T>
inline constexpr int kBackwardThreads = sizeof(T) == 2 ? 640 : kTileThreads;

/// The values of T in 16 bytes.
template <typename T>
inline constexpr int kPack = 16 / static_cast<int>(sizeof(T));

/// The packs of a thread in rows of more than 32 packs: 16 values.
template <typename T>
inline constexpr int kTilePacks = 16 / kPack<T>;

/// The blocks of threads of a kernel on tiles.
struct TileGrid {
  std::int64_t rows;
  int width;
  int row_threads;  // a multiple of 32
  int groups;       // rows that a block holds at once

  int threads() const { return row_threads * groups; }
};

/// \return row_threads = 0 where no tile holds a row of this width
template <typename T>
TileGrid tile_grid(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kMostColumns = std::int64_t{kTileThreads} * 16, kNarrowThreads = 256;
  if (std::is_same_v<T, double> || width % kPack<T> != 0 || width > kMostColumns) return {};
  const auto packs = width / kPack<T>;
  const auto by_thread = packs <= kWarpThreads ? 1 : kTilePacks<T>;
  const auto warps = (packs + by_thread * kWarpThreads - 1) / (by_thread * kWarpThreads);
  const auto row_threads = (warps == 0 ? 1 : warps) * kWarpThreads;
  const auto groups = row_threads >= kNarrowThreads ? 1 : kNarrowThreads / row_threads;
  return {rows, static_cast<int>(width), static_cast<int>(row_threads), static_cast<int>(groups)};
}

/// Shared memory of a kernel with `vectors` SharedVectors, in bytes; enough for store_block_sums().
template <typename T>
std::size_t tile_shared_bytes(const TileGrid& grid, int vectors) {
  const bool is_narrow = grid.width <= kWarpThreads * kPack<T>;
  const int columns = grid.row_threads * kPack<T> * (is_narrow ? 1 : kTilePacks<T>);
  const int of_vectors = vectors * columns * 4, of_sums = grid.threads() * 16;
  return static_cast<std::size_t>(of_vectors > of_sums ? of_vectors : of_sums);
}

/// True if all these addresses are multiples of 16; null is.
template <typename... Pointers>
bool are_aligned(const Pointers*... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// The multiprocessors of the current device.
inline int multiprocessor_count() {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  const auto error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return error == cudaSuccess && count > 0 ? count : 1;
}

/// The blocks of a forward pass: they fill the device once, and each walks over the rows.
inline std::int64_t tile_blocks(const TileGrid& grid, int resident_threads) {
  const auto wanted = (grid.rows + grid.groups - 1) / grid.groups;
  const auto fitting = std::int64_t{multiprocessor_count()} * (resident_threads / grid.threads());
  return wanted < fitting ? wanted : fitting;
}

/// Launches `narrow` for rows of at most 32 packs, where each thread has one, else `wide`.
/// \param vectors  SharedVectors of the kernel
template <typename T, typename... Parameters>
cudaError_t launch_tiles(void (*narrow)(Parameters...), void (*wide)(Parameters...),
                         const TileGrid& grid, std::int64_t blocks, int vectors,
                         cudaStream_t stream,
                         const std::type_identity_t<Parameters>&... arguments) {
  if (blocks == 0 || grid.rows == 0) return cudaSuccess;
  const auto kernel = grid.width <= kWarpThreads * kPack<T> ? narrow : wide;
  const auto threads = static_cast<unsigned>(grid.threads());
  const auto bytes = tile_shared_bytes<T>(grid, vectors);
  constexpr std::size_t kUsualShared = 47 * 1024;  // with the reductions: 48 KiB
  if (bytes > kUsualShared) {
    const auto error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(bytes));
    if (error != cudaSuccess) return error;
  }
  kernel<<<static_cast<unsigned>(blocks), threads, bytes, stream>>>(arguments...);
  return cudaGetLastError();
}

}  // namespace evenkeel::kernels::cuda
