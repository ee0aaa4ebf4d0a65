// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#if defined(__CUDACC__)
#include <cuda_pipeline_primitives.h>
#include <mma.h>
#endif

#include "evenkeel/kernels/cuda/row_vectors.cuh"

/// Products of bfloat16 matrices by the tensor cores of a warp, with sums in float, and copies into
/// shared memory that overlap with them. Compilers without CUDA get plain loops (for tests).
namespace evenkeel::kernels::cuda {

/// Both sides of the tiles that one instruction multiplies.
inline constexpr int kProductTile = 16;

/// A copy of 16 bytes from global to shared memory, or zeros.
/// \param from  an address in any case
__device__ inline void start_copy(__nv_bfloat16* to, const __nv_bfloat16* from, bool is_zero) {
#if defined(__CUDACC__)
  __pipeline_memcpy_async(to, from, 16, is_zero ? 16 : 0);
#else
  using Packed = PackedRow<__nv_bfloat16>;
  *reinterpret_cast<Packed*>(to) = is_zero ? Packed{} : *reinterpret_cast<const Packed*>(from);
#endif
}

/// Ends a group of copies of this thread.
__device__ inline void end_copies() {
#if defined(__CUDACC__)
  __pipeline_commit();
#endif
}

/// Waits until all groups of copies of this thread but the last kLater are there.
template <int kLater>
__device__ void wait_for_copies() {
#if defined(__CUDACC__)
  __pipeline_wait_prior(kLater);
#endif
}

#if defined(__CUDACC__)

/// Sums [16, 16] that a warp holds together.
using ProductSums = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kProductTile, kProductTile,
                                           kProductTile, float>;

__device__ inline void set_to_zero(ProductSums& sums) {
  nvcuda::wmma::fill_fragment(sums, 0.0F);
}

/// sums[m][n] += a[:, 16 m ...]^T b[:, 16 n ...], over 16 rows of a and b.
/// \param a, b   rows in shared memory, 32-byte aligned
/// \param pitch  of both, a multiple of 8
template <int kRows, int kColumns>
__device__ void add_products(ProductSums (&sums)[kRows][kColumns], const __nv_bfloat16* a,
                             const __nv_bfloat16* b, int pitch) {
  using namespace nvcuda;
  using Left = wmma::fragment<wmma::matrix_a, kProductTile, kProductTile, kProductTile,
                              __nv_bfloat16, wmma::col_major>;
  using Right = wmma::fragment<wmma::matrix_b, kProductTile, kProductTile, kProductTile,
                               __nv_bfloat16, wmma::row_major>;
  Right right[kColumns];
#pragma unroll
  for (int n = 0; n < kColumns; ++n) {
    wmma::load_matrix_sync(right[n], b + n * kProductTile, static_cast<unsigned>(pitch));
  }
#pragma unroll
  for (int m = 0; m < kRows; ++m) {
    Left left;
    wmma::load_matrix_sync(left, a + m * kProductTile, static_cast<unsigned>(pitch));
#pragma unroll
    for (int n = 0; n < kColumns; ++n) wmma::mma_sync(sums[m][n], left, right[n], sums[m][n]);
  }
}

/// Writes sums to [16, 16] in shared memory.
__device__ inline void store_sums(float* to, const ProductSums& sums) {
  nvcuda::wmma::store_matrix_sync(to, sums, kProductTile, nvcuda::wmma::mem_row_major);
}

#else

/// Element i of lane l is element 32 i + l of the tile.
struct ProductSums {
  float value[8];
};

inline void set_to_zero(ProductSums& sums) {
  sums = {};
}

template <int kRows, int kColumns>
void add_products(ProductSums (&sums)[kRows][kColumns], const __nv_bfloat16* a,
                  const __nv_bfloat16* b, int pitch) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int m = 0; m < kRows; ++m) {
    for (int n = 0; n < kColumns; ++n) {
      for (int i = 0; i < 8; ++i) {
        const int element = 32 * i + lane;
        const auto* const left = a + m * kProductTile + element / kProductTile;
        const auto* const right = b + n * kProductTile + element % kProductTile;
        for (int k = 0; k < kProductTile; ++k) {
          sums[m][n].value[i] += widened(left[k * pitch]) * widened(right[k * pitch]);
        }
      }
    }
  }
}

inline void store_sums(float* to, const ProductSums& sums) {
  for (int i = 0; i < 8; ++i) to[32 * i + static_cast<int>(threadIdx.x % 32)] = sums.value[i];
}

#endif

}  // namespace evenkeel::kernels::cuda
