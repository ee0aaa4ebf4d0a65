// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/common/cpu_adapter.h"

#include <ATen/ops/empty.h>

#include "evenkeel/kernels/cpu/portable/block_reduction.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops::cpu {

void check_contiguous_cpu(const at::Tensor& tensor, std::int64_t count) {
  TORCH_CHECK(tensor.is_cpu() && tensor.is_contiguous() && tensor.numel() == count, "[evenkeel] ",
              count, " values on cpu are read where a tensor of ", tensor.sizes(), " on ",
              tensor.device(), " was given to an operator that only others should call: ",
              "take the one without _forward or _backward in its name");
}

int thread_count() {
  if (at::in_parallel_region()) return 1;
  const OperatorThreads all_threads;
  return at::get_num_threads();
}

at::Tensor tree_sum(const at::Tensor& sums) {
  constexpr std::int64_t kBlocks = 64;  // a power of two: the tree begins with trees of so many
  constexpr std::int64_t kColumns = 256;
  const auto blocks = sums.size(0), width = sums.size(1);
  if (blocks == 0) return sums.sum(0);
  auto* const values = mutable_data<double>(sums);
  const auto subtrees = kernels::blocks_of(blocks, kBlocks);
  const auto strips = kernels::blocks_of(width, kColumns);
  const auto grain = std::max<std::int64_t>(1, kColumns / std::max<std::int64_t>(1, width));
  parallel_for(0, subtrees * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto task = begin; task < end; ++task) {
      const auto block = task / strips * kBlocks, column = task % strips * kColumns;
      kernels::cpu::tree_sum(values + block * width, std::min(kBlocks, blocks - block), width,
                             column, std::min(column + kColumns, width));
    }
  });
  if (subtrees == 1) return sums[0];
  return tree_sum(sums.slice(0, 0, blocks, kBlocks).contiguous());
}

at::Tensor vector_gradient_from_blocks(const at::Tensor& sums,
                                       const std::optional<at::Tensor>& vector) {
  if (!vector) return empty_vector_gradient(vector, at::empty({0}));
  const auto by_feature = tree_sum(sums);
  const bool is_one = vector->size(0) == 1 && by_feature.size(0) != 1;
  const auto total = is_one ? tree_sum(by_feature.clone().unsqueeze(1)) : by_feature;
  return vector_gradient(total, vector);
}

}  // namespace evenkeel::ops::cpu
