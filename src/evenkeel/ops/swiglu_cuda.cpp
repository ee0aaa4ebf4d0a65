// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cuda/swiglu.cuh"
#include "evenkeel/ops/cuda_adapter.h"
#include "evenkeel/ops/operands.h"
#include "evenkeel/ops/swiglu_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::mutable_data;
using cuda::KernelType;

Tensor forward(const Tensor& products) {
  const c10::cuda::CUDAGuard on_device_of_products(products.device());
  const auto rows = products.contiguous();
  const auto inner = width_of(products) / 2;
  auto sizes = products.sizes().vec();
  sizes.back() = inner;
  auto y = at::empty(sizes, products.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, products.scalar_type(), "swiglu_forward", [&] {
    cuda::check(kernels::cuda::swiglu<KernelType<scalar_t>>(
        {.products = const_data<scalar_t>(rows), .y = mutable_data<scalar_t>(y)}, row_count(products), inner,
        cuda::stream()));
  });
  return y;
}

/// \param y  contiguous, written; perhaps dy. Undefined: nobody asks
Tensor backward_and(const Tensor& dy, const Tensor& products, const Tensor& y) {
  const c10::cuda::CUDAGuard on_device_of_products(products.device());
  const auto upstream = dy.contiguous();
  const auto rows = products.contiguous();
  auto gradient = empty_contiguous_like(products);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, products.scalar_type(), "swiglu_backward", [&] {
    cuda::check(kernels::cuda::swiglu_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .products = const_data<scalar_t>(rows),
         .gradient = mutable_data<scalar_t>(gradient),
         .y = y.defined() ? mutable_data<scalar_t>(y) : nullptr},
        row_count(products), width_of(products) / 2, cuda::stream()));
  });
  return gradient;
}

Tensor backward(const Tensor& dy, const Tensor& products) {
  return backward_and(dy, products, {});
}

Tensor backward_in_place(const Tensor& dy, const Tensor& products) {
  check_in_place(dy, products);
  bump_version(dy);
  return backward_and(dy, products, dy);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("swiglu_forward", forward);
  m.impl("swiglu_backward", backward);
  m.impl("swiglu_backward_", backward_in_place);
}

}  // namespace evenkeel::ops
