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

Tensor weight_norm_forward_cpu(const Tensor& v_any, const Tensor& row_gain) {
  const auto v = v_any.contiguous();
  const auto w = empty_contiguous_like(v);
  const auto rows = row_count(v), width = width_of(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm", [&] {
    using F = kernels::cpu::OpMathType<KernelType<scalar_t>>;
    const auto* const from = const_data<scalar_t>(v);
    const auto* const gain = const_data<F>(row_gain, rows);
    auto* const to = mutable_data<scalar_t>(w);
    cpu::for_each_row(rows, [&](std::int64_t i) {
      kernels::cpu::weight_norm_row(from + i * width, gain[i], to + i * width, width);
    });
  });
  return w;
}

std::tuple<Tensor, Tensor> weight_norm_backward_cpu(const Tensor& dw_any, const Tensor& v_any,
                                                    const Tensor& row_gain) {
  const auto v = v_any.contiguous(), dw = dw_any.contiguous();
  const auto dv = empty_contiguous_like(v), dgain = empty_contiguous_like(row_gain);
  const auto rows = row_count(v), width = width_of(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm_backward", [&] {
    using F = kernels::cpu::OpMathType<KernelType<scalar_t>>;
    const auto* const upstream = const_data<scalar_t>(dw, v.numel());
    const auto* const from = const_data<scalar_t>(v);
    const auto* const gain = const_data<F>(row_gain, rows);
    auto* const to = mutable_data<scalar_t>(dv);
    auto* const to_gain = mutable_data<F>(dgain);
    cpu::for_each_row(rows, [&](std::int64_t i) {
      const auto at = i * width;
      to_gain[i] = static_cast<F>(kernels::cpu::weight_norm_row_backward(upstream + at, from + at,
                                                                         gain[i], to + at, width));
    });
  });
  return {dv, dgain};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("weight_norm_forward", weight_norm_forward_cpu);
  m.impl("weight_norm_backward", weight_norm_backward_cpu);
}

}  // namespace evenkeel::ops
