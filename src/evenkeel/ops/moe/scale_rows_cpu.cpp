// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/row_blas.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;

Tensor scale_rows_forward_cpu(const Tensor& x_any, const Tensor& weights) {
  const auto x = x_any.contiguous();
  const auto y = empty_contiguous_like(x);
  const auto rows = row_count(x), width = width_of(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows", [&] {
    using F = kernels::cpu::OpMathType<KernelType<scalar_t>>;
    const auto* const from = const_data<scalar_t>(x);
    const auto* const weight = const_data<F>(weights, rows);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(rows, [&](std::int64_t m) {
      kernels::cpu::scale_row(from + m * width, weight[m], to + m * width, width);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor> scale_rows_backward_cpu(const Tensor& dy_any, const Tensor& x_any,
                                                   const Tensor& weights) {
  const auto dy = dy_any.contiguous(), x = x_any.contiguous();
  const auto dx = empty_contiguous_like(x), dweights = empty_contiguous_like(weights);
  const auto rows = row_count(x), width = width_of(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows_backward", [&] {
    using F = kernels::cpu::OpMathType<KernelType<scalar_t>>;
    const auto* const upstream = const_data<scalar_t>(dy, x.numel());
    const auto* const from = const_data<scalar_t>(x);
    const auto* const weight = const_data<F>(weights, rows);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dweight = mutable_data<F>(dweights);
    cpu::for_each_row(rows, [&](std::int64_t m) {
      const auto at = m * width;
      dweight[m] = static_cast<F>(kernels::cpu::dot_row(upstream + at, from + at, width));
      kernels::cpu::scale_row(upstream + at, weight[m], to + at, width);
    });
  });
  return {dx, dweights};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("scale_rows_forward", scale_rows_forward_cpu);
  m.impl("scale_rows_backward", scale_rows_backward_cpu);
}

}  // namespace evenkeel::ops
