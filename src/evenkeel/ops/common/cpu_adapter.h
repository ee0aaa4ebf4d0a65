// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "evenkeel/kernels/cpu/common/simd.h"
#include "evenkeel/kernels/reduction_order.h"

/// What the CPU adapters share: raw pointers out of tensors, and loops over rows in parallel.
namespace evenkeel::ops::cpu {

/// The kernels' type of a tensor's values: Bf16 for at::BFloat16, else the same.
template <typename T>
using KernelType = std::conditional_t<std::is_same_v<T, at::BFloat16>, kernels::cpu::Bf16, T>;

template <typename T>
const KernelType<T>* const_data(const at::Tensor& tensor) {
  return reinterpret_cast<const KernelType<T>*>(tensor.const_data_ptr<T>());
}

/// \throws c10::Error unless `tensor` is `count` contiguous values on the CPU
void check_contiguous_cpu(const at::Tensor& tensor, std::int64_t count);

/// The same of a tensor of which `count` values are read. Public operators say better what is wrong
/// with theirs; but those behind them may be called from Python, too.
template <typename T>
const KernelType<T>* const_data(const at::Tensor& tensor, std::int64_t count) {
  check_contiguous_cpu(tensor, count);
  return const_data<T>(tensor);
}

template <typename T>
KernelType<T>* mutable_data(const at::Tensor& tensor) {
  return reinterpret_cast<KernelType<T>*>(tensor.mutable_data_ptr<T>());
}

/// Calls work(row) for every row, in parallel; rows must not depend on each other.
template <typename Work>
void for_each_row(std::int64_t rows, const Work& work) {
  constexpr std::int64_t kRowsPerTask = 16;
  at::parallel_for(0, rows, kRowsPerTask, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) work(row);
  });
}

/// Calls work(block, begin, end) for every block of `size` of `count` things, in parallel.
template <typename Work>
void for_each_block(std::int64_t count, std::int64_t size, const Work& work) {
  const auto blocks = kernels::blocks_of(count, size);
  at::parallel_for(0, blocks, /*grain_size=*/1, [&](std::int64_t first, std::int64_t last) {
    for (auto block = first; block < last; ++block) {
      work(block, block * size, std::min(count, (block + 1) * size));
    }
  });
}

/// Calls work(row, block) for every row: those of a block in order, so that it may add to the sums
/// of its block, and blocks in parallel.
template <typename Work>
void for_each_row_of_blocks(std::int64_t rows, const Work& work) {
  for_each_block(rows, kernels::kBlockRows,
                 [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                   for (auto row = begin; row < end; ++row) work(row, block);
                 });
}

/// The sum of zero_block_sums(), in the tree of kernels/reduction_order.h: [D], double. `sums` is
/// used up.
at::Tensor tree_sum(const at::Tensor& sums);

/// The gradient of a vector [D], or of one value [1], out of zero_block_sums(); [0] without a
/// vector.
at::Tensor vector_gradient_from_blocks(const at::Tensor& sums,
                                       const std::optional<at::Tensor>& vector);

}  // namespace evenkeel::ops::cpu
