// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/layer_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

Tensor3 layer_norm_forward_cuda(const Tensor& x, const OptionalTensor& gain,
                                const OptionalTensor& bias, double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  auto y = empty_contiguous_like(x);
  auto mean = empty_row_statistic(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_forward", [&] {
    cuda::check(kernels::cuda::layer_norm_forward<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
         .bias = const_data<OpMathType<KernelType<scalar_t>>>(biases),
         .y = mutable_data<scalar_t>(y),
         .mean = mutable_data<double>(mean),
         .rstd = mutable_data<double>(rstd)},
        row_count(x), width_of(x), epsilon, cuda::stream()));
  });
  return {y, mean, rstd};
}

Tensor3 layer_norm_backward_cuda(const Tensor& dy, const Tensor& x, const OptionalTensor& gain,
                                 const OptionalTensor& bias, const Tensor& mean,
                                 const Tensor& rstd) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous();
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = zero_block_sums(x);
  const auto bias_sums = zero_block_sums(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_backward", [&] {
    cuda::check(kernels::cuda::layer_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
         .mean = const_data<double>(mean),
         .rstd = const_data<double>(rstd),
         .dx = mutable_data<scalar_t>(dx)},
        row_count(x), width_of(x), cuda::stream()));
    if (!gain && !bias) return;
    cuda::check(kernels::cuda::add_row_blocks<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .mean = const_data<double>(mean),
         .rstd = const_data<double>(rstd),
         .dgain = mutable_data<double>(gain_sums),
         .dbias = mutable_data<double>(bias_sums)},
        row_count(x), width_of(x), cuda::stream()));
  });
  return {dx, vector_gradient(cuda::tree_sum(gain_sums), gain),
          vector_gradient(cuda::tree_sum(bias_sums), bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("layer_norm_forward", layer_norm_forward_cuda);
  m.impl("layer_norm_backward", layer_norm_backward_cuda);
}

}  // namespace evenkeel::ops
