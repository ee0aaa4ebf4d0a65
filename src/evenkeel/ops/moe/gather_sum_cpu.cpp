// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "evenkeel/kernels/cpu/portable/gather_sum.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor gather_sum_forward_cpu(const Tensor& x_any, const Tensor& rows_any) {
  const auto x = x_any.contiguous(), rows = rows_any.contiguous();
  const auto terms = rows.dim() == 1 ? 1 : rows.size(1);
  const auto width = x.size(1);
  const auto y = at::empty({rows.size(0), width}, x.options());
  const auto* const row = rows.const_data_ptr<std::int64_t>();
  const bool exist = std::all_of(row, row + rows.numel(),
                                 [&](std::int64_t each) { return 0 <= each && each < x.size(0); });
  TORCH_CHECK(exist, "[gather_sum] rows must be 0 to ", x.size(0) - 1, ", but are ",
              rows.min().item<std::int64_t>(), " to ", rows.max().item<std::int64_t>());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "gather_sum", [&] {
    const auto* const from = cpu::const_data<scalar_t>(x);
    auto* const to = cpu::mutable_data<scalar_t>(y);
    cpu::for_each_row(y.size(0), [&](std::int64_t n) {
      kernels::cpu::gather_sum(from, row + n * terms, terms, to + n * width, width);
    });
  });
  return y;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("gather_sum_forward", gather_sum_forward_cpu);
}

}  // namespace evenkeel::ops
