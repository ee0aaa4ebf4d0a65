// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/rms_norm.cuh"
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

std::tuple<Tensor, Tensor> rms_norm_forward_cuda(const Tensor& x, const OptionalTensor& gain,
                                                 double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = cuda::contiguous_or_undefined(gain);
  auto y = empty_contiguous_like(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_forward", [&] {
    cuda::check(kernels::cuda::rms_norm_forward<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .branch = nullptr,
         .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
         .sum = nullptr,
         .y = mutable_data<scalar_t>(y),
         .rstd = mutable_data<double>(rstd)},
        row_count(x), width_of(x), epsilon, cuda::stream()));
  });
  return {y, rstd};
}

std::tuple<Tensor, Tensor> rms_norm_backward_cuda(const Tensor& dy, const OptionalTensor& skip,
                                                  const Tensor& x, const OptionalTensor& gain,
                                                  const Tensor& rstd) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous();
  const auto residual = cuda::contiguous_or_undefined(skip);
  const auto rows = x.contiguous();
  const auto gains = cuda::contiguous_or_undefined(gain);
  auto dx = empty_contiguous_like(x);
  Tensor dgain;

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_backward", [&] {
    const cuda::PartialSums<scalar_t> sums(x, gain.has_value(), /*has_bias=*/false);
    cuda::check(kernels::cuda::rms_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .skip = cuda::data_or_null<scalar_t>(residual),
         .x = const_data<scalar_t>(rows),
         .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
         .rstd = const_data<double>(rstd),
         .dx = mutable_data<scalar_t>(dx),
         .partials = sums.pointers()},
        row_count(x), width_of(x), cuda::stream()));
    dgain = cuda::vector_gradient_from(sums.dgain, gain, x);
  });
  return {dx, dgain};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("rms_norm_forward", rms_norm_forward_cuda);
  m.impl("rms_norm_backward", rms_norm_backward_cuda);
}

}  // namespace evenkeel::ops
