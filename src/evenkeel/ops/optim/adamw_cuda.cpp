// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include "evenkeel/kernels/cuda/adamw.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

template <typename W, typename G>
void update(const AdamwBuffers& buffers, const kernels::AdamwFactors& factors) {
  cuda::check(kernels::cuda::adamw<W, cuda::KernelType<G>>(
      {.weight = cuda::mutable_data<W>(buffers.weight),
       .first = cuda::mutable_data<W>(buffers.first),
       .second = cuda::mutable_data<W>(buffers.second),
       .gradient = cuda::const_data<G>(buffers.gradient),
       .copy = buffers.copy ? cuda::mutable_data<at::BFloat16>(*buffers.copy) : nullptr},
      buffers.weight.numel(), factors, cuda::stream()));
}

void adamw_in_place_cuda(Tensor& weight, Tensor& first, Tensor& second, const Tensor& gradient,
                         const std::optional<Tensor>& copy, double lr, double beta1, double beta2,
                         double epsilon, double weight_decay, double gradient_scale,
                         std::int64_t step) {
  const c10::cuda::CUDAGuard on_device_of_weight(weight.device());
  const AdamwBuffers buffers{weight, first, second, gradient, copy};
  const AdamwStep options{lr, beta1, beta2, epsilon, weight_decay, gradient_scale, step};
  check_adamw(buffers, options);
  for (const auto& written : {weight, first, second}) bump_version(written);
  if (copy) bump_version(*copy);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gradient.scalar_type(), "adamw_", [&] {
    if (weight.scalar_type() == at::kDouble) {
      update<double, scalar_t>(buffers, factors_of(options));
    } else {
      update<float, scalar_t>(buffers, factors_of(options));
    }
  });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("adamw_", adamw_in_place_cuda);
}

}  // namespace evenkeel::ops
