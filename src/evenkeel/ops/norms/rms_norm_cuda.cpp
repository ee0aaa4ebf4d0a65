// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/rms_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
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
  const auto gains = vector_or(gain, 1, x);
  auto y = empty_contiguous_like(x);
  auto rstd = empty_row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_forward", [&] {
    cuda::check(kernels::cuda::rms_norm_forward<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(rows),
         .branch = nullptr,
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
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
  const auto beside = skip ? skip->contiguous() : Tensor();
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto dx = empty_contiguous_like(x);
  const auto sums = zero_block_sums(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_backward", [&] {
    cuda::check(kernels::cuda::rms_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .skip = skip ? const_data<scalar_t>(beside) : nullptr,
         .x = const_data<scalar_t>(rows),
         .gain = const_data<OpMathType<KernelType<scalar_t>>>(gains),
         .rstd = const_data<double>(rstd),
         .dx = mutable_data<scalar_t>(dx)},
        row_count(x), width_of(x), cuda::stream()));
    if (!gain) return;
    cuda::check(kernels::cuda::add_row_blocks<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .mean = nullptr,
         .rstd = const_data<double>(rstd),
         .dgain = mutable_data<double>(sums),
         .dbias = nullptr},
        row_count(x), width_of(x), cuda::stream()));
  });
  return {dx, vector_gradient(cuda::tree_sum(sums), gain)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("rms_norm_forward", rms_norm_forward_cuda);
  m.impl("rms_norm_backward", rms_norm_backward_cuda);
}

}  // namespace evenkeel::ops
