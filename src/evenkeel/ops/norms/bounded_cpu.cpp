// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/bounded.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/rows_view.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::BoundedKind;
using kernels::cpu::BoundedParameters;
using kernels::cpu::OpMathType;

BoundedParameters bounded_parameters(const Tensor& alpha, const OptionalTensor& shift, bool erf) {
  return {.function = erf ? BoundedKind::erf : BoundedKind::tanh,
          .alpha = *const_data<double>(alpha, 1),
          .shift = shift ? *const_data<double>(*shift, 1) : 0};
}

Tensor bounded_forward_cpu(const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
                           const OptionalTensor& gain, const OptionalTensor& bias, bool erf) {
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  const auto width = width_of(x);
  const auto parameters = bounded_parameters(alpha, shift, erf);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "bounded_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const bias_data = const_data<OpMathType<KernelType<scalar_t>>>(biases, width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      kernels::cpu::bounded_row(from + rows.offset(row), gain_data, bias_data, to + row * width,
                                width, parameters);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> bounded_backward_cpu(
    const Tensor& dy, const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
    const OptionalTensor& gain, const OptionalTensor& bias, bool erf) {
  const auto upstream = dy.contiguous();
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x);
  const auto parameters = bounded_parameters(alpha, shift, erf);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = zero_block_sums(x);
  const auto bias_sums = bias ? zero_block_sums(x) : Tensor();
  const auto value_sums = at::zeros({gain_sums.size(0), 2}, at::kDouble);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "bounded_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = mutable_data<double>(gain_sums);
    auto* const dbias = bias ? mutable_data<double>(bias_sums) : nullptr;
    auto* const alpha_shift_sums = mutable_data<double>(value_sums);
    cpu::for_each_row_of_blocks(row_count(x), [&](std::int64_t row, std::int64_t block) {
      kernels::cpu::bounded_row_backward<KernelType<scalar_t>>(
          {.dy = dy_rows + row * width,
           .x = x_rows + rows.offset(row),
           .gain = gain_data,
           .dx = to + row * width,
           .dalpha = alpha_shift_sums + 2 * block,
           .dshift = alpha_shift_sums + 2 * block + 1,
           .dgain = dgain + block * width,
           .dbias = dbias == nullptr ? nullptr : dbias + block * width},
          width, parameters);
    });
  });
  const auto total = cpu::tree_sum(value_sums);
  return {dx, total.narrow(0, 0, 1).clone(), total.narrow(0, 1, 1).clone(),
          cpu::vector_gradient_from_blocks(gain_sums, gain),
          cpu::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("bounded_forward", bounded_forward_cpu);
  m.impl("bounded_backward", bounded_backward_cpu);
}

}  // namespace evenkeel::ops
