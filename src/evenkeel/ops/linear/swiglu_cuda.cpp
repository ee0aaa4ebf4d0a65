// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cuda/swiglu.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/swiglu_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;

Tensor swiglu_forward_cuda(const Tensor& up_gate) {
  const c10::cuda::CUDAGuard on_device_of_up_gate(up_gate.device());
  const auto rows = up_gate.contiguous();
  const auto ffn_width = width_of(up_gate) / 2;
  auto sizes = up_gate.sizes().vec();
  sizes.back() = ffn_width;
  auto y = at::empty(sizes, up_gate.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, up_gate.scalar_type(), "swiglu_forward", [&] {
    cuda::check(kernels::cuda::swiglu<KernelType<scalar_t>>(
        {.up_gate = const_data<scalar_t>(rows), .y = mutable_data<scalar_t>(y)}, row_count(up_gate),
        ffn_width, cuda::stream()));
  });
  return y;
}

/// \param y  contiguous, written; may be dy. Undefined: not wanted
Tensor swiglu_backward_with_output(const Tensor& dy, const Tensor& up_gate, const Tensor& y) {
  const c10::cuda::CUDAGuard on_device_of_up_gate(up_gate.device());
  const auto upstream = dy.contiguous();
  const auto rows = up_gate.contiguous();
  auto gradient = empty_contiguous_like(up_gate);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, up_gate.scalar_type(), "swiglu_backward", [&] {
    cuda::check(kernels::cuda::swiglu_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .up_gate = const_data<scalar_t>(rows),
         .gradient = mutable_data<scalar_t>(gradient),
         .y = y.defined() ? mutable_data<scalar_t>(y) : nullptr},
        row_count(up_gate), width_of(up_gate) / 2, cuda::stream()));
  });
  return gradient;
}

Tensor swiglu_backward_cuda(const Tensor& dy, const Tensor& up_gate) {
  return swiglu_backward_with_output(dy, up_gate, {});
}

Tensor swiglu_backward_in_place_cuda(const Tensor& dy, const Tensor& up_gate) {
  check_in_place(dy, up_gate);
  bump_version(dy);
  return swiglu_backward_with_output(dy, up_gate, dy);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("swiglu_forward", swiglu_forward_cuda);
  m.impl("swiglu_backward", swiglu_backward_cuda);
  m.impl("swiglu_backward_", swiglu_backward_in_place_cuda);
}

}  // namespace evenkeel::ops
