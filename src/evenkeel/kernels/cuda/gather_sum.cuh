// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace evenkeel::kernels::cuda {

/// y[n] = sum over j of x[index[n, j]], in the order of j, in float (double for double), rounded
/// once. An index that is no row of x makes y[n] NaN.
template <typename T>
struct GatherSumRows {
  const T* x;                 // [x_rows, width]
  const std::int64_t* index;  // [rows, terms]
  T* y;                       // [rows, width], written
  std::int64_t x_rows, rows, terms, width;
};

/// \tparam T  double, float or __nv_bfloat16
template <typename T>
cudaError_t gather_sum(const GatherSumRows<T>& args, cudaStream_t stream);

}  // namespace evenkeel::kernels::cuda
