// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

/// Kernels of emulator_test.cpp: one without a mistake, and one for each mistake that is found.
namespace evenkeel::testing {

constexpr int kThreads = 64;

enum class Mistake {
  none,
  index_after_end,
  index_before_start,
  index_after_shared_end,
  unwritten_shared,
  missing_barrier,
  missing_warp_barrier,
  shuffle_for_barrier,
  race_of_blocks,
  write_by_all_threads,
  local_of_another_thread,
  divergent_barrier,
  barrier_after_end,
  lane_not_arriving,
  lane_not_in_mask,
  source_not_in_mask,
  different_masks,
  misaligned_vector,
  too_many_threads
};

/// y = x in reversed order, within each block of kThreads values. [blocks * kThreads]
cudaError_t reverse(Mistake mistake, const float* x, float* y, int blocks, cudaStream_t stream);

/// y[i] = the sum of x, by a kernel with `bytes` of dynamic shared memory.
cudaError_t sum(const float* x, float* y, int threads, std::size_t bytes, bool allow_bytes,
                cudaStream_t stream);

/// An empty kernel on this grid.
cudaError_t launch_empty(dim3 grid, dim3 block, cudaStream_t stream);

}  // namespace evenkeel::testing
