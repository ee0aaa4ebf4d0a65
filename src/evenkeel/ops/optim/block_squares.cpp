// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/optim/block_squares.h"

#include <ATen/core/grad_mode.h>

#include "evenkeel/kernels/cpu/portable/block_reduction.h"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/optim/sum_of_squares.h"

namespace evenkeel::ops {

std::vector<double> block_squares(const at::Tensor& x) {
  const auto count = x.numel();
  const auto blocks = kernels::blocks_of(count, kernels::kBlockValues);
  std::vector<double> sums(square_blocks(count));
  const auto one = [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
    const at::NoGradGuard no_grad;  // of this thread
    sums[static_cast<std::size_t>(block)] = sum_of_squares(x.narrow(0, begin, end - begin));
  };
  if (x.is_cpu()) {
    cpu::for_each_block(count, kernels::kBlockValues, one);
  } else {
    for (std::int64_t block = 0; block < blocks; ++block) {
      const auto begin = block * kernels::kBlockValues;
      one(block, begin, std::min(count, begin + kernels::kBlockValues));
    }
  }
  return sums;
}

std::size_t square_blocks(std::int64_t count) {
  return static_cast<std::size_t>(kernels::blocks_of(count, kernels::kBlockValues));
}

double tree_sum(std::vector<double> sums) {
  if (sums.empty()) return 0;
  kernels::cpu::tree_sum(sums.data(), static_cast<std::int64_t>(sums.size()), 1, 0, 1);
  return sums.front();
}

}  // namespace evenkeel::ops
