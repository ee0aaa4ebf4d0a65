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

std::tuple<Tensor, Tensor, Tensor> add_rms_norm_forward_cuda(const Tensor& residual,
                                                             const Tensor& branch,
                                                             const OptionalTensor& gain,
                                                             double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_residual(residual.device());
  const auto left = residual.contiguous();
  const auto right = branch.contiguous();
  const auto gains = cuda::contiguous_or_undefined(gain);
  auto sum = empty_contiguous_like(residual);
  auto y = empty_contiguous_like(residual);
  auto rstd = empty_row_statistic(residual);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, sum.scalar_type(), "add_rms_norm_forward", [&] {
    cuda::check(kernels::cuda::rms_norm_forward<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(left),
         .branch = const_data<scalar_t>(right),
         .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
         .sum = mutable_data<scalar_t>(sum),
         .y = mutable_data<scalar_t>(y),
         .rstd = mutable_data<double>(rstd)},
        row_count(sum), width_of(sum), epsilon, cuda::stream()));
  });
  return {sum, y, rstd};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("add_rms_norm_forward", add_rms_norm_forward_cuda);
}

}  // namespace evenkeel::ops
