// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/layer_norm.h"
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
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

Tensor3 layer_norm_forward_cpu(const Tensor& x, const OptionalTensor& gain,
                               const OptionalTensor& bias, double epsilon) {
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  const auto width = width_of(x);
  auto y = empty_contiguous_like(x);
  auto mean = empty_row_statistic(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const bias_data = const_data<OpMathType<KernelType<scalar_t>>>(biases, width);
    auto* const to = mutable_data<scalar_t>(y);
    auto* const mean_data = mutable_data<double>(mean);
    auto* const rstd_data = mutable_data<double>(rstd);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      const auto moments = kernels::cpu::layer_norm_row(
          from + rows.offset(row), gain_data, bias_data, to + row * width, width, epsilon);
      mean_data[row] = moments.mean;
      rstd_data[row] = moments.rstd;
    });
  });
  return {y, mean, rstd};
}

Tensor3 layer_norm_backward_cpu(const Tensor& dy, const Tensor& x, const OptionalTensor& gain,
                                const OptionalTensor& bias, const Tensor& mean,
                                const Tensor& rstd) {
  const auto upstream = dy.contiguous();
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = zero_block_sums(x);
  const auto bias_sums = zero_block_sums(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const mean_data = const_data<double>(mean, row_count(x));
    const auto* const rstd_data = const_data<double>(rstd, row_count(x));
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = mutable_data<double>(gain_sums);
    auto* const dbias = mutable_data<double>(bias_sums);
    const auto run = [&](std::int64_t block, std::int64_t row, std::int64_t count) {
      kernels::cpu::layer_norm_backward<KernelType<scalar_t>>({.dy = dy_rows + row * width,
                                                               .x = x_rows + rows.offset(row),
                                                               .gain = gain_data,
                                                               .mean = mean_data + row,
                                                               .rstd = rstd_data + row,
                                                               .dx = to + row * width,
                                                               .dgain = dgain + block * width,
                                                               .dbias = dbias + block * width},
                                                              count, width);
    };
    cpu::for_each_run_of_blocks(rows, row_count(x), run);
  });
  return {dx, vector_gradient(cpu::tree_sum(gain_sums), gain),
          vector_gradient(cpu::tree_sum(bias_sums), bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("layer_norm_forward", layer_norm_forward_cpu);
  m.impl("layer_norm_backward", layer_norm_backward_cpu);
}

}  // namespace evenkeel::ops
