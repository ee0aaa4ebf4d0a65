// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Sums over flat buffers, in a fixed order; conventions as in rms_norm.cuh.
namespace evenkeel::kernels::cuda {

/// The number of partial sums of a buffer. It depends on the multiprocessors of the current device.
std::int64_t square_sums(std::int64_t count);

/// The sum of x^2 over the parts of a buffer: sums [square_sums(count)], written.
template <typename T>
cudaError_t sum_of_squares(const T* x, double* sums, std::int64_t count, cudaStream_t stream);

/// total [1] = the sum of sums [count]; 0 without any.
cudaError_t sum_total(const double* sums, std::int64_t count, double* total, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
