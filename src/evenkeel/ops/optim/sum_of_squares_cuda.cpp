// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cuda/block_reduction.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

at::Tensor sum_of_squares_cuda(const at::Tensor& x) {
  check_dtype("sum_of_squares", "x", x);
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto values = x.contiguous();
  const auto count = values.numel();
  const auto sums = at::empty({kernels::cuda::square_sums(count)}, x.options().dtype(at::kDouble));
  const auto total = at::empty({}, sums.options());

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "sum_of_squares", [&] {
    cuda::check(kernels::cuda::sum_of_squares(cuda::const_data<scalar_t>(values),
                                              cuda::mutable_data<double>(sums), count,
                                              cuda::stream()));
  });
  cuda::check(kernels::cuda::sum_total(cuda::const_data<double>(sums), sums.size(0),
                                       cuda::mutable_data<double>(total), cuda::stream()));
  return total;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("sum_of_squares", sum_of_squares_cuda);
}

}  // namespace evenkeel::ops
