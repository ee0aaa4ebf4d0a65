// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/cpu.h"

#include "evenkeel/kernels/cpu/sums.h"

namespace evenkeel::ops::cpu {

at::Tensor total_of(const at::Tensor& sums) {
  const auto blocks = sums.size(0);
  const auto width = sums.size(1);
  if (blocks == 0) return sums.sum(0);
  auto* const values = out<double>(sums);
  constexpr std::int64_t kColumnsATask = 256;
  at::parallel_for(0, width, kColumnsATask, [&](std::int64_t begin, std::int64_t end) {
    kernels::cpu::add_in_tree(values, blocks, width, begin, end);
  });
  return sums[0];
}

}  // namespace evenkeel::ops::cpu
