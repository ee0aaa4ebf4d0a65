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
#include "evenkeel/ops/common/rows_view.h"
#include "evenkeel/ops/common/serial_libraries.h"
#include "evenkeel/ops/common/work_parts.h"

/// Shared by the CPU adapters: raw pointers of tensors, and parallel loops over rows.
namespace evenkeel::ops::cpu {

/// The element type in kernels/cpu: Bf16 for at::BFloat16, else T.
template <typename T>
using KernelType = std::conditional_t<std::is_same_v<T, at::BFloat16>, kernels::cpu::Bf16, T>;

template <typename T>
const KernelType<T>* const_data(const at::Tensor& tensor) {
  return reinterpret_cast<const KernelType<T>*>(tensor.const_data_ptr<T>());
}

/// \throws c10::Error unless `tensor` is `count` contiguous values on the CPU
void check_contiguous_cpu(const at::Tensor& tensor, std::int64_t count);

/// const_data() of a tensor that must have `count` values. This check protects the internal
/// operators (X_forward, X_backward), which Python can also call.
/// \throws c10::Error as check_contiguous_cpu()
template <typename T>
const KernelType<T>* const_data(const at::Tensor& tensor, std::int64_t count) {
  check_contiguous_cpu(tensor, count);
  return const_data<T>(tensor);
}

template <typename T>
KernelType<T>* mutable_data(const at::Tensor& tensor) {
  return reinterpret_cast<KernelType<T>*>(tensor.mutable_data_ptr<T>());
}

/// The number of threads of parallel_for(); 1 inside a parallel region.
int thread_count();

/// Calls work(first, last) for ranges of [begin, end), in parallel, until each index was in one: as
/// at::parallel_for(), with the threads of the operators also under SerialLibraries, and several
/// ranges a thread (WorkParts), of a multiple of `grain` but for the last.
template <typename Work>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const Work& work) {
  const OperatorThreads all_threads;
  const int threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  const auto count = kernels::blocks_of(end - begin, grain);
  if (threads == 1 || count <= threads) return at::parallel_for(begin, end, grain, work);
  WorkParts parts(count, threads);
  at::parallel_for(0, threads, /*grain_size=*/1, [&](std::int64_t first, std::int64_t last) {
    for (auto thread = first; thread < last; ++thread) {
      parts.run(static_cast<int>(thread), [&](std::int64_t from, std::int64_t to) {
        work(begin + from * grain, std::min(end, begin + to * grain));
      });
    }
  });
}

/// Rows of a task whose rows are independent.
inline constexpr std::int64_t kTaskRows = 16;

/// Calls work(row) for every row, in parallel. Rows must be independent.
template <typename Work>
void for_each_row(std::int64_t rows, const Work& work) {
  parallel_for(0, rows, kTaskRows, [&](std::int64_t begin, std::int64_t end) {
    for (auto row = begin; row < end; ++row) work(row);
  });
}

/// Splits `count` items into blocks of `size`; calls work(block, begin, end) for each, in parallel.
template <typename Work>
void for_each_block(std::int64_t count, std::int64_t size, const Work& work) {
  const auto blocks = kernels::blocks_of(count, size);
  parallel_for(0, blocks, /*grain=*/1, [&](std::int64_t first, std::int64_t last) {
    for (auto block = first; block < last; ++block) {
      work(block, block * size, std::min(count, (block + 1) * size));
    }
  });
}

/// Calls work(row, block) for every row: blocks in parallel, rows of a block in order by one
/// thread, so that work() may add to the sums of its block.
template <typename Work>
void for_each_row_of_blocks(std::int64_t rows, const Work& work) {
  for_each_block(rows, kernels::kBlockRows,
                 [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                   for (auto row = begin; row < end; ++row) work(row, block);
                 });
}

/// Calls work(block, row, count) for runs of adjacent rows in memory, each within a block: as
/// for_each_row_of_blocks().
template <typename Work>
void for_each_run_of_blocks(const RowsView& view, std::int64_t rows, const Work& work) {
  for_each_block(
      rows, kernels::kBlockRows, [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
        view.for_each_run(begin, end,
                          [&](std::int64_t row, std::int64_t count) { work(block, row, count); });
      });
}

/// The sum over blocks, in the tree of kernels/reduction_order.h: [D], float64.
/// \param sums  result of zero_block_sums(); overwritten
at::Tensor tree_sum(const at::Tensor& sums);

/// The gradient of a vector [D] or [1] from its block sums, in the dtype of the vector; [0] if
/// `vector` is nullopt.
/// \param sums  result of zero_block_sums(); overwritten
at::Tensor vector_gradient_from_blocks(const at::Tensor& sums,
                                       const std::optional<at::Tensor>& vector);

}  // namespace evenkeel::ops::cpu
