// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/rms_norm.cuh"
#include "evenkeel/ops/cuda.h"
#include "evenkeel/ops/rows.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::in;
using cuda::out;
using cuda::Raw;
using kernels::cuda::Wide;

std::tuple<Tensor, Tensor> forward(const Tensor& x, const OptionalTensor& gain, double epsilon) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto y = like(x);
  auto rstd = row_statistic(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_forward", [&] {
    cuda::check(kernels::cuda::rms_norm_forward<Raw<scalar_t>>(
        {.x = in<scalar_t>(rows),
         .branch = nullptr,
         .gain = in<Wide<Raw<scalar_t>>>(gains),
         .sum = nullptr,
         .y = out<scalar_t>(y),
         .rstd = out<double>(rstd)},
        rows_of(x), width_of(x), epsilon, cuda::stream()));
  });
  return {y, rstd};
}

std::tuple<Tensor, Tensor> backward(const Tensor& dy, const OptionalTensor& skip, const Tensor& x,
                                    const OptionalTensor& gain, const Tensor& rstd) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous();
  const auto beside = skip ? skip->contiguous() : Tensor();
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  auto dx = like(x);
  const auto sums = block_sums(x);

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_backward", [&] {
    cuda::check(kernels::cuda::rms_norm_backward<Raw<scalar_t>>(
        {.dy = in<scalar_t>(upstream),
         .skip = skip ? in<scalar_t>(beside) : nullptr,
         .x = in<scalar_t>(rows),
         .gain = in<Wide<Raw<scalar_t>>>(gains),
         .rstd = in<double>(rstd),
         .dx = out<scalar_t>(dx)},
        rows_of(x), width_of(x), cuda::stream()));
    if (!gain) return;
    cuda::check(kernels::cuda::add_row_blocks<Raw<scalar_t>>({.dy = in<scalar_t>(upstream),
                                                              .x = in<scalar_t>(rows),
                                                              .mean = nullptr,
                                                              .rstd = in<double>(rstd),
                                                              .dgain = out<double>(sums),
                                                              .dbias = nullptr},
                                                             rows_of(x), width_of(x),
                                                             cuda::stream()));
  });
  return {dx, vector_gradient(cuda::total_of(sums), gain)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("rms_norm_forward", forward);
  m.impl("rms_norm_backward", backward);
}

}  // namespace evenkeel::ops
