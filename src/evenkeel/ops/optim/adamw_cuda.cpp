// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include "evenkeel/kernels/cuda/adamw.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/optim/adamw_common.h"

namespace evenkeel::ops {

namespace {

template <typename W, typename G>
void update(const AdamwBuffers& buffers, const kernels::AdamwFactors& factors, bool take_over) {
  if (take_over) {
    cuda::check(kernels::cuda::take_over_bf16(cuda::const_data<at::BFloat16>(*buffers.copy),
                                              cuda::mutable_data<W>(buffers.weight),
                                              buffers.weight.numel(), cuda::stream()));
  }
  cuda::check(kernels::cuda::adamw<W, cuda::KernelType<G>>(
      {.weight = cuda::mutable_data<W>(buffers.weight),
       .first = cuda::mutable_data<W>(buffers.first),
       .second = cuda::mutable_data<W>(buffers.second),
       .gradient = cuda::const_data<G>(buffers.gradient),
       .copy = buffers.copy ? cuda::mutable_data<at::BFloat16>(*buffers.copy) : nullptr},
      buffers.weight.numel(), factors, cuda::stream()));
}

void adamw_cuda(const AdamwBuffers& buffers, const AdamwStep& step) {
  const c10::cuda::CUDAGuard on_device_of_weight(buffers.weight.device());
  begin_adamw(buffers, step);
  const auto factors = factors_of(step);
  dispatch_adamw(buffers,
                 [&]<typename W, typename G>() { update<W, G>(buffers, factors, step.take_over); });
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("adamw_", adamw_of_arguments<adamw_cuda>);
}

}  // namespace evenkeel::ops
