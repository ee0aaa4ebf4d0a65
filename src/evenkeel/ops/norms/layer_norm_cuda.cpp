// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/layer_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_row_gradient.h"
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
  const auto gains = cuda::contiguous_or_undefined(gain);
  const auto biases = cuda::contiguous_or_undefined(bias);
  auto y = empty_contiguous_like(x);
  auto mean = empty_row_statistic(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_forward", [&] {
    cuda::check(kernels::cuda::layer_norm_forward<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
         .bias = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(biases),
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
  const auto gains = cuda::contiguous_or_undefined(gain);
  auto dx = empty_contiguous_like(x);
  Tensor dgain, dbias;

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "layer_norm_backward", [&] {
    const cuda::PartialSums<scalar_t> sums(x, gain.has_value(), bias.has_value());
    cuda::check(kernels::cuda::layer_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
         .mean = const_data<double>(mean),
         .rstd = const_data<double>(rstd),
         .dx = mutable_data<scalar_t>(dx),
         .partials = sums.pointers()},
        row_count(x), width_of(x), cuda::stream()));
    dgain = cuda::vector_gradient_from(sums.dgain, gain, x);
    dbias = cuda::vector_gradient_from(sums.dbias, bias, x);
  });
  return {dx, dgain, dbias};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("layer_norm_forward", layer_norm_forward_cuda);
  m.impl("layer_norm_backward", layer_norm_backward_cuda);
}

}  // namespace evenkeel::ops
