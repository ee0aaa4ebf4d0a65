// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/rms_norm.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/rows_view.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

std::tuple<Tensor, Tensor> rms_norm_forward_cpu(const Tensor& x, const OptionalTensor& gain,
                                                double epsilon) {
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto y = empty_contiguous_like(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(y);
    auto* const rstd_data = mutable_data<double>(rstd);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      rstd_data[row] = kernels::cpu::rms_norm_row(from + rows.offset(row), gain_data,
                                                  to + row * width, width, epsilon);
    });
  });
  return {y, rstd};
}

std::tuple<Tensor, Tensor> rms_norm_backward_cpu(const Tensor& dy, const OptionalTensor& skip,
                                                 const Tensor& x, const OptionalTensor& gain,
                                                 const Tensor& rstd) {
  const auto upstream = dy.contiguous();
  const auto beside = skip ? skip->contiguous() : Tensor();
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto sums = zero_block_sums(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const skip_rows = skip ? const_data<scalar_t>(beside, x.numel()) : nullptr;
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const rstd_data = const_data<double>(rstd, row_count(x));
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = mutable_data<double>(sums);
    const auto run = [&](std::int64_t block, std::int64_t row, std::int64_t count) {
      kernels::cpu::rms_norm_backward<KernelType<scalar_t>>(
          {.dy = dy_rows + row * width,
           .skip = skip ? skip_rows + row * width : nullptr,
           .x = x_rows + rows.offset(row),
           .gain = gain_data,
           .rstd = rstd_data + row,
           .dx = to + row * width,
           .dgain = dgain + block * width},
          count, width);
    };
    cpu::for_each_run_of_blocks(rows, row_count(x), run);
  });
  return {dx, vector_gradient(cpu::tree_sum(sums), gain)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("rms_norm_forward", rms_norm_forward_cpu);
  m.impl("rms_norm_backward", rms_norm_backward_cpu);
}

}  // namespace evenkeel::ops
