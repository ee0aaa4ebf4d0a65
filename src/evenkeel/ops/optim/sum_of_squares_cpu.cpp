// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "evenkeel/kernels/cpu/portable/block_reduction.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

at::Tensor sum_of_squares_cpu(const at::Tensor& x) {
  check_dtype("sum_of_squares", "x", x);
  const auto values = x.contiguous();
  const auto count = values.numel();
  const auto blocks = std::max<std::int64_t>(1, kernels::blocks_of(count, kernels::kBlockValues));
  const auto sums = at::zeros({blocks, 1}, x.options().dtype(at::kDouble));

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "sum_of_squares", [&] {
    const auto* const from = cpu::const_data<scalar_t>(values, count);
    auto* const to = cpu::mutable_data<double>(sums);
    cpu::for_each_block(count, kernels::kBlockValues,
                        [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                          to[block] = kernels::cpu::sum_of_squares(from + begin, end - begin);
                        });
  });
  return cpu::tree_sum(sums).squeeze(0).clone();
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("sum_of_squares", sum_of_squares_cpu);
}

}  // namespace evenkeel::ops
