// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/bounded.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_vector_gradient.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;

/// alpha and shift stay on the device.
kernels::cuda::BoundedParameters device_parameters(const Tensor& alpha, const OptionalTensor& shift,
                                                   bool erf) {
  return {.alpha = const_data<double>(alpha),
          .shift = shift ? const_data<double>(*shift) : nullptr,
          .is_erf = erf};
}

Tensor bounded_forward_cuda(const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
                            const OptionalTensor& gain, const OptionalTensor& bias, bool erf) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x), biases = vector_or(bias, 0, x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "bounded_forward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::bounded<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .gain = const_data<F>(gains),
         .bias = const_data<F>(biases),
         .y = mutable_data<scalar_t>(y)},
        device_parameters(alpha, shift, erf), row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> bounded_backward_cuda(
    const Tensor& dy, const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
    const OptionalTensor& gain, const OptionalTensor& bias, bool erf) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous(), rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto dx = empty_contiguous_like(x);
  const auto count = row_count(x), width = width_of(x);
  const auto sums = [&](bool is_wanted) {
    return cuda::empty_block_sums(count, is_wanted ? width : 0, x);
  };
  const auto alpha_sums = sums(true), shift_sums = sums(true);
  const auto gain_sums = sums(gain.has_value()), bias_sums = sums(bias.has_value());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "bounded_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::bounded_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .gain = const_data<F>(gains),
         .dx = mutable_data<scalar_t>(dx),
         .dalpha = mutable_data<double>(alpha_sums),
         .dshift = mutable_data<double>(shift_sums),
         .dgain = gain ? mutable_data<double>(gain_sums) : nullptr,
         .dbias = bias ? mutable_data<double>(bias_sums) : nullptr},
        device_parameters(alpha, shift, erf), count, width, cuda::stream()));
  });
  return {dx, cuda::value_total(cuda::block_total(alpha_sums)),
          cuda::value_total(cuda::block_total(shift_sums)),
          cuda::vector_gradient_from_blocks(gain_sums, gain),
          cuda::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("bounded_forward", bounded_forward_cuda);
  m.impl("bounded_backward", bounded_backward_cuda);
}

}  // namespace evenkeel::ops
