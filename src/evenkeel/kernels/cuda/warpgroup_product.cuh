// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "evenkeel/kernels/cuda/row_vectors.cuh"

/// Products of bfloat16 matrices by the tensor cores of a warpgroup (4 warps) of compute capability
/// 9.0, with sums in float. Compilers without CUDA get plain loops (for tests).
namespace evenkeel::kernels::cuda {

/// Shared memory of an operand is made of panels: kPanelRows rows of kPanelWidth values, 128 bytes
/// each, whose packs of 16 bytes lie in the order that the instruction reads without bank conflicts
/// (128-byte swizzle). Panels begin at multiples of 1,024 bytes.
/// \source PTX ISA, "Asynchronous warpgroup level matrix instructions", MN-major layouts
inline constexpr int kPanelRows = 64, kPanelWidth = 64;
inline constexpr int kPanelSize = kPanelRows * kPanelWidth;
inline constexpr int kPanelPack = 8;  // values in 16 bytes

/// The place of pack `pack` of row `row` in a panel.
__device__ inline int panel_place(int row, int pack) {
  return row * kPanelWidth + (pack ^ row % 8) * kPanelPack;
}

/// The sums of a thread: those of a warpgroup are [kWarpgroupRows, kWarpgroupColumns].
inline constexpr int kWarpgroupRows = 64, kWarpgroupColumns = 256, kWarpgroupSums = 128;
/// The row of sum i of a thread, and its column.
__device__ inline int warpgroup_row(int thread, int i) {
  return thread % 128 / 32 * 16 + thread % 32 / 4 + i % 4 / 2 * 8;
}
__device__ inline int warpgroup_column(int thread, int i) {
  return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

#if defined(__CUDACC__)

/// The descriptor of panels in shared memory, columns contiguous: neighbouring panels follow each
/// other, and 8 rows take 1,024 bytes.
__device__ inline std::uint64_t panel_descriptor(const __nv_bfloat16* panel) {
  constexpr std::uint64_t kUnit = 16, kNextPanel = kPanelSize * sizeof(__nv_bfloat16) / kUnit;
  constexpr std::uint64_t kNextRows = 1024 / kUnit, kSwizzle128 = 1;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(panel));
  return (address & 0x3FFFF) / kUnit | kNextPanel << 16 | kNextRows << 32 | kSwizzle128 << 62;
}

#define EK_SUMS_4(i) "+f"(sums[i]), "+f"(sums[(i) + 1]), "+f"(sums[(i) + 2]), "+f"(sums[(i) + 3])
#define EK_SUMS_16(i) EK_SUMS_4(i), EK_SUMS_4((i) + 4), EK_SUMS_4((i) + 8), EK_SUMS_4((i) + 12)
#define EK_SUMS_64(i) \
  EK_SUMS_16(i), EK_SUMS_16((i) + 16), EK_SUMS_16((i) + 32), EK_SUMS_16((i) + 48)

/// sums += a^T b over 16 rows; a and b are descriptors.
__device__ inline void multiply_16_rows(float (&sums)[kWarpgroupSums], std::uint64_t a,
                                        std::uint64_t b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, "
      "%128, %129, 1, 1, 1, 1, 1;"
      : EK_SUMS_64(0), EK_SUMS_64(64)
      : "l"(a), "l"(b));
#else
  __trap();
#endif
}

#undef EK_SUMS_4
#undef EK_SUMS_16
#undef EK_SUMS_64

/// Writes of this thread to shared memory become visible to the products after the next barrier.
__device__ inline void publish_panels() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Starts sums += a^T b over the rows of the panels; all threads of a warpgroup call it.
/// \param a  one panel: 64 columns
/// \param b  four panels one after another: 256 columns
__device__ inline void start_products(float (&sums)[kWarpgroupSums], const __nv_bfloat16* a,
                                      const __nv_bfloat16* b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
  constexpr int kRows = 16;
#pragma unroll
  for (int row = 0; row < kPanelRows; row += kRows)
    multiply_16_rows(sums, panel_descriptor(a + row * kPanelWidth),
                     panel_descriptor(b + row * kPanelWidth));
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until all started products but the last kLater are done: their panels may be overwritten,
/// with 0 their sums may be read.
template <int kLater>
__device__ void wait_for_products(float (&sums)[kWarpgroupSums]) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kLater) : "memory");
  if constexpr (kLater == 0) {
#pragma unroll
    for (int i = 0; i < kWarpgroupSums; ++i) asm volatile("" : "+f"(sums[i])::"memory");
  }
#endif
}

#else

inline void publish_panels() {}

inline void start_products(float (&sums)[kWarpgroupSums], const __nv_bfloat16* a,
                           const __nv_bfloat16* b) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto value = [](const __nv_bfloat16* panels, int row, int column) {
    const auto* const panel = panels + column / kPanelWidth * kPanelSize;
    const int place = panel_place(row, column % kPanelWidth / kPanelPack) + column % kPanelPack;
    return widened(panel[place]);
  };
  for (int i = 0; i < kWarpgroupSums; ++i) {
    for (int row = 0; row < kPanelRows; ++row) {
      sums[i] +=
          value(a, row, warpgroup_row(thread, i)) * value(b, row, warpgroup_column(thread, i));
    }
  }
}

template <int kLater>
void wait_for_products(float (& /*sums*/)[kWarpgroupSums]) {}

#endif

}  // namespace evenkeel::kernels::cuda
