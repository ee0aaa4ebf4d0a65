// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/row_blas.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;

Tensor scale_rows_forward_cuda(const Tensor& x_any, const Tensor& weights_any) {
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto x = x_any.contiguous(), weights = weights_any.contiguous();
  const auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows", [&] {
    cuda::check(kernels::cuda::scale_rows<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(x),
         .factor = const_data<OpMathType<KernelType<scalar_t>>>(weights),
         .factor_stride = 1,
         .y = mutable_data<scalar_t>(y)},
        row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor> scale_rows_backward_cuda(const Tensor& dy_any, const Tensor& x_any,
                                                    const Tensor& weights_any) {
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto dy = dy_any.contiguous(), x = x_any.contiguous(), weights = weights_any.contiguous();
  const auto dx = empty_contiguous_like(x), dweights = empty_contiguous_like(weights);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "scale_rows_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::scale_rows_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(dy),
         .x = const_data<scalar_t>(x),
         .factor = const_data<F>(weights),
         .dx = mutable_data<scalar_t>(dx),
         .dfactor = mutable_data<F>(dweights)},
        row_count(x), width_of(x), cuda::stream()));
  });
  return {dx, dweights};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("scale_rows_forward", scale_rows_forward_cuda);
  m.impl("scale_rows_backward", scale_rows_backward_cuda);
}

}  // namespace evenkeel::ops
