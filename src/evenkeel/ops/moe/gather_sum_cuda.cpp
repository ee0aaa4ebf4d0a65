// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cuda/gather_sum.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor gather_sum_forward_cuda(const Tensor& x_any, const Tensor& rows_any) {
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto x = x_any.contiguous(), rows = rows_any.contiguous();
  const auto y = at::empty({rows.size(0), x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "gather_sum", [&] {
    cuda::check(kernels::cuda::gather_sum<cuda::KernelType<scalar_t>>(
        {.x = cuda::const_data<scalar_t>(x),
         .index = rows.const_data_ptr<std::int64_t>(),
         .y = cuda::mutable_data<scalar_t>(y),
         .x_rows = x.size(0),
         .rows = rows.size(0),
         .terms = rows.dim() == 1 ? 1 : rows.size(1),
         .width = x.size(1)},
        cuda::stream()));
  });
  return y;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("gather_sum_forward", gather_sum_forward_cuda);
}

}  // namespace evenkeel::ops
