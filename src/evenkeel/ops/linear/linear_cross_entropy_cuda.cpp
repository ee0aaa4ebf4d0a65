// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <optional>

#include "evenkeel/kernels/cuda/linear_cross_entropy.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::KernelType;
using cuda::mutable_data;

Tensor cross_entropy_rows_cuda(const Tensor& logits, const Tensor& targets, double scale,
                               std::optional<double> softcap, bool with_gradient, double z_loss) {
  const c10::cuda::CUDAGuard on_device_of_logits(logits.device());
  TORCH_CHECK(logits.dim() == 2 && is_row_major(logits),
              "[cross_entropy_rows_] logits must be [n, V] and row-major");
  bump_version(logits);
  const auto contiguous_targets = targets.contiguous();
  const auto losses = at::empty({2, logits.size(0)}, logits.options().dtype(at::kDouble));
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, logits.scalar_type(), "cross_entropy_rows_", [&] {
    cuda::check(kernels::cuda::cross_entropy_rows<KernelType<scalar_t>>(
        {.logits = mutable_data<scalar_t>(logits),
         .targets = contiguous_targets.const_data_ptr<std::int64_t>(),
         .losses = mutable_data<double>(losses),
         .stride = logits.stride(0),
         .scale = scale,
         .cap = softcap.value_or(0),
         .z_loss = z_loss,
         .with_gradient = with_gradient},
        logits.size(0), logits.size(1), cuda::stream()));
  });
  return losses;
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("cross_entropy_rows_", cross_entropy_rows_cuda);
}

}  // namespace evenkeel::ops
