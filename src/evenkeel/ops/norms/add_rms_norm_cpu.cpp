// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/rms_norm.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

std::tuple<Tensor, Tensor, Tensor> add_rms_norm_forward_cpu(const Tensor& residual,
                                                            const Tensor& branch,
                                                            const OptionalTensor& gain,
                                                            double epsilon) {
  const auto left = residual.contiguous();
  const auto right = branch.contiguous();
  const auto gains = vector_or(gain, 1, residual);
  const auto width = width_of(residual);
  auto sum = empty_contiguous_like(residual);
  auto y = empty_contiguous_like(residual);
  auto rstd = empty_row_statistic(residual);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, sum.scalar_type(), "add_rms_norm_forward", [&] {
    const auto* const left_rows = const_data<scalar_t>(left, sum.numel());
    const auto* const right_rows = const_data<scalar_t>(right, sum.numel());
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const sum_rows = mutable_data<scalar_t>(sum);
    auto* const y_rows = mutable_data<scalar_t>(y);
    auto* const rstd_data = mutable_data<double>(rstd);
    cpu::for_each_row(row_count(sum), [&](std::int64_t row) {
      const auto offset = row * width;
      rstd_data[row] =
          kernels::cpu::add_rms_norm_row(left_rows + offset, right_rows + offset, gain_data,
                                         sum_rows + offset, y_rows + offset, width, epsilon);
    });
  });
  return {sum, y, rstd};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("add_rms_norm_forward", add_rms_norm_forward_cpu);
}

}  // namespace evenkeel::ops
