// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>

#include "evenkeel/kernels/cpu/portable/gather_sum.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

/// Whether each of `count` indices is that of one of the rows.
bool are_rows(const std::int64_t* index, std::int64_t count, std::int64_t rows) {
  constexpr std::int64_t kIndicesPerTask = 4096;
  std::atomic<bool> exist = true;
  cpu::for_each_block(
      count, kIndicesPerTask, [&](std::int64_t /*block*/, std::int64_t begin, std::int64_t end) {
        const auto exists = [rows](std::int64_t each) { return 0 <= each && each < rows; };
        if (!std::all_of(index + begin, index + end, exists)) exist = false;
      });
  return exist;
}

Tensor gather_sum_forward_cpu(const Tensor& x_any, const Tensor& rows_any) {
  const auto x = x_any.contiguous(), rows = rows_any.contiguous();
  const auto terms = rows.dim() == 1 ? 1 : rows.size(1);
  const auto width = x.size(1);
  const auto y = at::empty({rows.size(0), width}, x.options());
  const auto* const row = rows.const_data_ptr<std::int64_t>();
  TORCH_CHECK(are_rows(row, rows.numel(), x.size(0)), "[gather_sum] rows must be 0 to ",
              x.size(0) - 1, ", but are ", rows.min().item<std::int64_t>(), " to ",
              rows.max().item<std::int64_t>());
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
