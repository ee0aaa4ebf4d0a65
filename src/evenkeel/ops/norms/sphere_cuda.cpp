// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/sphere.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_vector_gradient.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;
using kernels::cuda::SphereMoments;

Tensor sphere_step_forward_cuda(const Tensor& start, const Tensor& towards, const Tensor& step) {
  const c10::cuda::CUDAGuard on_device_of_start(start.device());
  const auto starts = start.contiguous(), ends = towards.contiguous();
  const auto steps = step.expand({width_of(start)}).contiguous();
  auto y = empty_contiguous_like(start);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, start.scalar_type(), "sphere_step_forward", [&] {
    cuda::check(kernels::cuda::sphere_step<KernelType<scalar_t>>(
        {.start = const_data<scalar_t>(starts),
         .towards = const_data<scalar_t>(ends),
         .step = const_data<double>(steps),
         .y = mutable_data<scalar_t>(y)},
        row_count(start), width_of(start), cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor> sphere_step_backward_cuda(const Tensor& dy, const Tensor& start,
                                                             const Tensor& towards,
                                                             const Tensor& step) {
  const c10::cuda::CUDAGuard on_device_of_start(start.device());
  const auto upstream = dy.contiguous(), starts = start.contiguous(), ends = towards.contiguous();
  const auto rows = row_count(start), width = width_of(start);
  const auto steps = step.expand({width}).contiguous();
  auto dstart = empty_contiguous_like(start), dtowards = empty_contiguous_like(start);
  const auto sums = cuda::empty_block_sums(rows, width, start);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, start.scalar_type(), "sphere_step_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(SphereMoments<F>) / sizeof(F));
    const auto moments =
        at::empty({rows, kSize}, start.options().dtype(opmath_dtype(start.scalar_type())));
    cuda::check(kernels::cuda::sphere_step_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .start = const_data<scalar_t>(starts),
         .towards = const_data<scalar_t>(ends),
         .step = const_data<double>(steps),
         .dstart = mutable_data<scalar_t>(dstart),
         .dtowards = mutable_data<scalar_t>(dtowards),
         .moments = reinterpret_cast<SphereMoments<F>*>(mutable_data<F>(moments)),
         .dstep = mutable_data<double>(sums)},
        rows, width, cuda::stream()));
  });
  return {dstart, dtowards, cuda::vector_gradient_from_blocks(sums, step)};
}

Tensor geodesic_step_forward_cuda(const Tensor& x, const Tensor& g, const Tensor& scale,
                                  const Tensor& bias, double decay) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto starts = x.contiguous(), pulls = g.contiguous();
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "geodesic_step_forward", [&] {
    cuda::check(kernels::cuda::geodesic_step<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(starts),
         .g = const_data<scalar_t>(pulls),
         .y = mutable_data<scalar_t>(y)},
        {.scale = const_data<double>(scale), .bias = const_data<double>(bias), .decay = decay},
        row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_step_backward_cuda(
    const Tensor& dy, const Tensor& x, const Tensor& g, const Tensor& scale, const Tensor& bias,
    double decay) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous(), starts = x.contiguous(), pulls = g.contiguous();
  auto dx = empty_contiguous_like(x), dg = empty_contiguous_like(x);
  const auto dscale = empty_row_statistic(x), dbias = empty_row_statistic(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "geodesic_step_backward", [&] {
    cuda::check(kernels::cuda::geodesic_step_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(starts),
         .g = const_data<scalar_t>(pulls),
         .dx = mutable_data<scalar_t>(dx),
         .dg = mutable_data<scalar_t>(dg),
         .dscale = mutable_data<double>(dscale),
         .dbias = mutable_data<double>(dbias)},
        {.scale = const_data<double>(scale), .bias = const_data<double>(bias), .decay = decay},
        row_count(x), width_of(x), cuda::stream()));
  });
  return {dx, dg, cuda::value_total(dscale), cuda::value_total(dbias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("sphere_step_forward", sphere_step_forward_cuda);
  m.impl("sphere_step_backward", sphere_step_backward_cuda);
  m.impl("geodesic_step_forward", geodesic_step_forward_cuda);
  m.impl("geodesic_step_backward", geodesic_step_backward_cuda);
}

}  // namespace evenkeel::ops
