// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "evenkeel/kernels/cuda/sum_totals.cuh"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

/// Gradients of vectors on CUDA, from sums over blocks of rows.
namespace evenkeel::ops::cuda {

/// [blocks of rows, D], float64, uninitialized: a kernel writes all of it.
inline at::Tensor empty_block_sums(std::int64_t rows, std::int64_t width, const at::Tensor& x) {
  return at::empty({kernels::blocks_of(rows, kernels::kBlockRows), width},
                   x.options().dtype(at::kDouble));
}

/// The sum over blocks [blocks, D] of float64, in one order: [D], float64.
inline at::Tensor block_total(const at::Tensor& sums) {
  const auto total = at::empty({sums.size(1)}, sums.options());
  check(kernels::cuda::column_totals(const_data<double>(sums), sums.size(0), sums.size(1),
                                     mutable_data<double>(total), stream()));
  return total;
}

/// The sum of contiguous values of float64, in one order: [1], float64.
inline at::Tensor value_total(const at::Tensor& values) {
  const auto total = at::empty({1}, values.options());
  check(kernels::cuda::value_total(const_data<double>(values), values.numel(),
                                   mutable_data<double>(total), stream()));
  return total;
}

/// The gradient of a vector [D] or [1] from its block sums, in the dtype of the vector; [0] if
/// `vector` is nullopt.
/// \param sums  [blocks, D], float64
inline at::Tensor vector_gradient_from_blocks(const at::Tensor& sums,
                                              const OptionalTensor& vector) {
  if (!vector) return at::empty({0}, sums.options());
  const auto by_feature = block_total(sums);
  const bool is_one = vector->size(0) == 1 && by_feature.size(0) != 1;
  return vector_gradient(is_one ? value_total(by_feature) : by_feature, vector);
}

}  // namespace evenkeel::ops::cuda
