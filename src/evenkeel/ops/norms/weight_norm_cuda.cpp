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

Tensor weight_norm_forward_cuda(const Tensor& v_any, const Tensor& gain_any) {
  const c10::cuda::CUDAGuard on_device_of_v(v_any.device());
  const auto v = v_any.contiguous(), gain = gain_any.contiguous();
  const auto w = empty_contiguous_like(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm", [&] {
    cuda::check(kernels::cuda::weight_norm<KernelType<scalar_t>>(
        {.v = const_data<scalar_t>(v),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gain),
         .w = mutable_data<scalar_t>(w)},
        row_count(v), width_of(v), cuda::stream()));
  });
  return w;
}

std::tuple<Tensor, Tensor> weight_norm_backward_cuda(const Tensor& dw_any, const Tensor& v_any,
                                                     const Tensor& gain_any) {
  const c10::cuda::CUDAGuard on_device_of_v(v_any.device());
  const auto dw = dw_any.contiguous(), v = v_any.contiguous(), gain = gain_any.contiguous();
  const auto dv = empty_contiguous_like(v), dgain = empty_contiguous_like(gain);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::weight_norm_backward<KernelType<scalar_t>>(
        {.dw = const_data<scalar_t>(dw),
         .v = const_data<scalar_t>(v),
         .gain = const_data<F>(gain),
         .dv = mutable_data<scalar_t>(dv),
         .dgain = mutable_data<F>(dgain)},
        row_count(v), width_of(v), cuda::stream()));
  });
  return {dv, dgain};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("weight_norm_forward", weight_norm_forward_cuda);
  m.impl("weight_norm_backward", weight_norm_backward_cuda);
}

}  // namespace evenkeel::ops
