// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Totals of partial sums of double, in one launch each and in an order that depends on their
/// number alone.
namespace evenkeel::kernels::cuda {

/// totals[i] = the sum of sums[., i]
/// \param sums    [blocks, width]
/// \param totals  [width], written
cudaError_t column_totals(const double* sums, std::int64_t blocks, std::int64_t width,
                          double* totals, cudaStream_t stream);

/// total[0] = the sum of values[0 .. count)
cudaError_t value_total(const double* values, std::int64_t count, double* total,
                        cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
