// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/affine.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

Tensor affine_forward_cpu(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias) {
  const auto rows = x.contiguous();
  const auto gains = group_vector_or(gain, 1, x);
  const auto biases = group_vector_or(bias, 0, x);
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

/// cpu::vector_gradient_from_blocks(), also of [G], one value for each D / G features.
Tensor gradient_of_groups(const Tensor& sums, const OptionalTensor& vector) {
  if (!is_group_vector(vector, sums)) return cpu::vector_gradient_from_blocks(sums, vector);
  const SerialLibraries one_thread;  // whose sums have one order
  return vector_gradient(group_sums(cpu::tree_sum(sums), vector->size(0)), vector);
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_cpu(const Tensor& dy, const Tensor& x,
                                                       const OptionalTensor& gain,
                                                       const OptionalTensor& bias) {
  const auto upstream = dy.contiguous();
  const auto rows = x.contiguous();
  const auto gains = group_vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = gain ? zero_block_sums(x) : Tensor();
  const auto bias_sums = bias ? zero_block_sums(x) : Tensor();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows, x.numel());
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = gain ? mutable_data<double>(gain_sums) : nullptr;
    auto* const dbias = bias ? mutable_data<double>(bias_sums) : nullptr;
    cpu::for_each_block(row_count(x), kernels::kBlockRows,
                        [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                          kernels::cpu::affine_backward<KernelType<scalar_t>>(
                              {.dy = dy_rows + begin * width,
                               .x = x_rows + begin * width,
                               .gain = gain_data,
                               .dx = to + begin * width,
                               .dgain = dgain == nullptr ? nullptr : dgain + block * width,
                               .dbias = dbias == nullptr ? nullptr : dbias + block * width},
                              end - begin, width);
                        });
  });
  return {dx, gradient_of_groups(gain_sums, gain), gradient_of_groups(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("affine_forward", affine_forward_cpu);
  m.impl("affine_backward", affine_backward_cpu);
}

}  // namespace evenkeel::ops
