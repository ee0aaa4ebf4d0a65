// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/affine.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;

Tensor affine_forward_cuda(const Tensor& x, const OptionalTensor& gain,
                           const OptionalTensor& bias) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_forward", [&] {
    cuda::check(kernels::cuda::affine<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
         .bias = const_data<OpMathType<KernelType<scalar_t>>>(biases),
         .y = mutable_data<scalar_t>(y)},
        row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_cuda(const Tensor& dy, const Tensor& x,
                                                        const OptionalTensor& gain,
                                                        const OptionalTensor& bias) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous();
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = zero_block_sums(x);
  const auto bias_sums = zero_block_sums(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_backward", [&] {
    cuda::check(kernels::cuda::affine<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(upstream),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
         .bias = nullptr,
         .y = mutable_data<scalar_t>(dx)},
        row_count(x), width_of(x), cuda::stream()));
    if (!gain && !bias) return;
    cuda::check(kernels::cuda::add_row_blocks<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .mean = nullptr,
         .rstd = nullptr,
         .dgain = mutable_data<double>(gain_sums),
         .dbias = mutable_data<double>(bias_sums)},
        row_count(x), width_of(x), cuda::stream()));
  });
  const auto total = [](const Tensor& sums, const OptionalTensor& vector) {
    const auto by_feature = cuda::tree_sum(sums);
    const bool one = vector && vector->size(0) == 1 && by_feature.size(0) != 1;
    return vector_gradient(one ? cuda::tree_sum(by_feature.clone().unsqueeze(1)) : by_feature,
                           vector);
  };
  return {dx, total(gain_sums, gain), total(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("affine_forward", affine_forward_cuda);
  m.impl("affine_backward", affine_backward_cuda);
}

}  // namespace evenkeel::ops
