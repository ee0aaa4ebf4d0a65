// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <climits>
#include <cstdint>
#include <type_traits>

#include "evenkeel/kernels/cuda/opmath_type.cuh"

/// Device code on neighbouring values of a row, in the type of arithmetic: 16 bytes a load, or one
/// value a load where width or address do not allow it.
namespace evenkeel::kernels::cuda {

/// The values of T in one load of 16 bytes.
template <typename T>
inline constexpr int kVectorSize = 16 / static_cast<int>(sizeof(T));

template <typename F, int kCount>
struct RowVector {
  F value[kCount];
  __device__ F& operator[](int k) { return value[k]; }
  __device__ F operator[](int k) const { return value[k]; }
};

template <typename T>
struct alignas(16) PackedRow {
  T value[kVectorSize<T>];
};

template <typename T>
__device__ OpMathType<T> widened(T value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __bfloat162float(value);
  } else {
    return value;
  }
}

template <typename T>
__device__ T narrowed(OpMathType<T> value) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

/// kCount values: 1, or a multiple of kVectorSize<T> from an address that is a multiple of 16.
template <int kCount, typename T>
__device__ RowVector<OpMathType<T>, kCount> load_row(const T* from) {
  RowVector<OpMathType<T>, kCount> to;
  if constexpr (kCount == 1) {
    to[0] = widened(*from);
  } else {
    static_assert(kCount % kVectorSize<T> == 0);
#pragma unroll
    for (int first = 0; first < kCount; first += kVectorSize<T>) {
      const auto packed = *reinterpret_cast<const PackedRow<T>*>(from + first);
#pragma unroll
      for (int k = 0; k < kVectorSize<T>; ++k) to[first + k] = widened(packed.value[k]);
    }
  }
  return to;
}

template <int kCount, typename T>
__device__ void store_row(T* to, const RowVector<OpMathType<T>, kCount>& from) {
  if constexpr (kCount == 1) {
    *to = narrowed<T>(from[0]);
  } else {
    static_assert(kCount % kVectorSize<T> == 0);
#pragma unroll
    for (int first = 0; first < kCount; first += kVectorSize<T>) {
      PackedRow<T> packed;
#pragma unroll
      for (int k = 0; k < kVectorSize<T>; ++k) packed.value[k] = narrowed<T>(from[first + k]);
      *reinterpret_cast<PackedRow<T>*>(to + first) = packed;
    }
  }
}

/// True if rows of `width` values of T, and all these addresses, take loads of 16 bytes.
template <typename T, typename... Pointers>
bool takes_vectors(std::int64_t width, const Pointers*... pointers) {
  return width % kVectorSize<T> == 0 &&
         ((reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0) && ...);
}

/// Launches `blocks` blocks of `threads` threads; nothing without blocks.
template <typename... Parameters>
cudaError_t launch_blocks(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                          std::int64_t shared_bytes, cudaStream_t stream,
                          const std::type_identity_t<Parameters>&... arguments) {
  if (blocks == 0) return cudaSuccess;
  if (blocks > INT_MAX) return cudaErrorInvalidConfiguration;
  kernel<<<static_cast<unsigned>(blocks), threads, static_cast<std::size_t>(shared_bytes),
           stream>>>(arguments...);
  return cudaGetLastError();
}

/// Calls launch(count) with the values of a load as a constant: kVectorSize<T>, or 1.
template <typename T, typename Launch>
cudaError_t with_vectors(bool takes_them, const Launch& launch) {
  return takes_them ? launch(std::integral_constant<int, kVectorSize<T>>{})
                    : launch(std::integral_constant<int, 1>{});
}

/// The threads of a block that takes a whole row, `count` values each at a time: whole warps.
inline int row_threads(std::int64_t width, int count, int most_threads = 256) {
  constexpr std::int64_t kWarp = 32;
  const std::int64_t vectors = (width + count - 1) / count;
  const std::int64_t wanted = (vectors + kWarp - 1) / kWarp * kWarp;
  return static_cast<int>(wanted < kWarp ? kWarp : wanted < most_threads ? wanted : most_threads);
}

/// Calls work(i) for each i at which kCount values of the thread begin, in a row of its block.
template <int kCount, typename Work>
__device__ void for_own_columns(std::int64_t width, const Work& work) {
  for (std::int64_t i = std::int64_t{threadIdx.x} * kCount; i < width;
       i += std::int64_t{blockDim.x} * kCount) {
    work(i);
  }
}

/// A block of threads takes one part of a row, a vector each thread: parts(width) blocks a row.
struct RowParts {
  int threads;
  std::int64_t parts;
};
inline RowParts row_parts(std::int64_t width, int count, int most_threads = 256) {
  const int threads = row_threads(width, count, most_threads);
  const std::int64_t columns = std::int64_t{threads} * count;
  return {threads, (width + columns - 1) / columns};
}

/// The row and the first column of this thread.
struct RowPlace {
  std::int64_t row, column;
};
template <int kCount>
__device__ RowPlace row_place(std::int64_t width) {
  const std::int64_t columns = std::int64_t{blockDim.x} * kCount;
  const std::int64_t parts = (width + columns - 1) / columns;
  const std::int64_t part = blockIdx.x % parts;
  return {blockIdx.x / parts, (part * blockDim.x + threadIdx.x) * kCount};
}

}  // namespace evenkeel::kernels::cuda
