// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>

#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

at::Tensor sum_of_squares_cuda(const at::Tensor& x) {
  check_dtype("sum_of_squares", "x", x);
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto values = x.contiguous();
  const auto count = values.numel();
  const auto blocks = std::max<std::int64_t>(1, kernels::blocks_of(count, kernels::kBlockValues));
  const auto sums = at::zeros({blocks, 1}, x.options().dtype(at::kDouble));

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "sum_of_squares", [&] {
    cuda::check(kernels::cuda::sum_of_squares(cuda::const_data<scalar_t>(values),
                                              cuda::mutable_data<double>(sums), count,
                                              cuda::stream()));
  });
  return cuda::tree_sum(sums).squeeze(0).clone();
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("sum_of_squares", sum_of_squares_cuda);
}

}  // namespace evenkeel::ops
