// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/affine.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

Tensor affine_forward_cpu(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias) {
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  const auto width = width_of(x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows, x.numel());
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const bias_data = const_data<OpMathType<KernelType<scalar_t>>>(biases, width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      kernels::cpu::affine_row(from + row * width, gain_data, bias_data, to + row * width, width);
    });
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_cpu(const Tensor& dy, const Tensor& x,
                                                       const OptionalTensor& gain,
                                                       const OptionalTensor& bias) {
  const auto upstream = dy.contiguous();
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = zero_block_sums(x);
  const auto bias_sums = zero_block_sums(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows, x.numel());
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = mutable_data<double>(gain_sums);
    auto* const dbias = mutable_data<double>(bias_sums);
    cpu::for_each_row_of_blocks(row_count(x), [&](std::int64_t row, std::int64_t block) {
      kernels::cpu::affine_row_backward<KernelType<scalar_t>>({.dy = dy_rows + row * width,
                                                               .x = x_rows + row * width,
                                                               .gain = gain_data,
                                                               .dx = to + row * width,
                                                               .dgain = dgain + block * width,
                                                               .dbias = dbias + block * width},
                                                              width);
    });
  });
  return {dx, cpu::vector_gradient_from_blocks(gain_sums, gain),
          cpu::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("affine_forward", affine_forward_cpu);
  m.impl("affine_backward", affine_backward_cpu);
}

}  // namespace evenkeel::ops
