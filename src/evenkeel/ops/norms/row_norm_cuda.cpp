// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>

#include "evenkeel/kernels/cuda/row_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_vector_gradient.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/norms/row_norm.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;
using kernels::cuda::RowDenominator;
using kernels::cuda::RowMoments;

RowDenominator cuda_denominator(const Tensor& x, std::int64_t groups, bool centred, double partial,
                                bool length, double epsilon, std::int64_t epsilon_at,
                                bool absmax8) {
  TORCH_CHECK(groups >= 1 && width_of(x) % groups == 0, "[row_norm] groups must divide the width ",
              width_of(x), ", but is ", groups);
  const auto width = width_of(x) / groups;
  const auto partial_width = static_cast<std::int64_t>(partial * static_cast<double>(width));
  return {.width = width,
          .groups = groups,
          .is_centred = centred,
          .partial_width = std::min(width, std::max<std::int64_t>(1, partial_width)),
          .is_length = length,
          .epsilon = epsilon,
          .epsilon_at = static_cast<RowDenominator::EpsilonAt>(epsilon_at),
          .absmax8 = absmax8};
}

Tensor row_norm_forward_cuda(const Tensor& x, const OptionalTensor& gain,
                             const OptionalTensor& bias, std::int64_t groups, bool centred,
                             double partial, bool length, double epsilon, std::int64_t epsilon_at,
                             bool absmax8) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto denominator =
      cuda_denominator(x, groups, centred, partial, length, epsilon, epsilon_at, absmax8);
  const auto rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x), biases = vector_or(bias, 0, x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "row_norm_forward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::row_norm<KernelType<scalar_t>>({.x = const_data<scalar_t>(rows),
                                                               .gain = const_data<F>(gains),
                                                               .bias = const_data<F>(biases),
                                                               .y = mutable_data<scalar_t>(y)},
                                                              row_count(x), denominator,
                                                              cuda::stream()));
  });
  return y;
}

std::tuple<Tensor, Tensor, Tensor> row_norm_backward_cuda(
    const Tensor& dy, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    std::int64_t groups, bool centred, double partial, bool length, double epsilon,
    std::int64_t epsilon_at, bool absmax8) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto denominator =
      cuda_denominator(x, groups, centred, partial, length, epsilon, epsilon_at, absmax8);
  const auto upstream = dy.contiguous(), rows = x.contiguous();
  const auto gains = vector_or(gain, 1, x);
  const auto count = row_count(x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = cuda::empty_block_sums(count, gain ? width_of(x) : 0, x);
  const auto bias_sums = cuda::empty_block_sums(count, bias ? width_of(x) : 0, x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "row_norm_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    constexpr auto kMomentsSize = static_cast<std::int64_t>(sizeof(RowMoments<F>) / sizeof(F));
    const auto moments = at::empty({count, groups, kMomentsSize}, gains.options());
    cuda::check(kernels::cuda::row_norm_backward<KernelType<scalar_t>>(
        {.dy = const_data<scalar_t>(upstream),
         .x = const_data<scalar_t>(rows),
         .gain = const_data<F>(gains),
         .dx = mutable_data<scalar_t>(dx),
         .moments = reinterpret_cast<RowMoments<F>*>(mutable_data<F>(moments)),
         .dgain = gain ? mutable_data<double>(gain_sums) : nullptr,
         .dbias = bias ? mutable_data<double>(bias_sums) : nullptr},
        count, denominator, cuda::stream()));
  });
  return {dx, cuda::vector_gradient_from_blocks(gain_sums, gain),
          cuda::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("row_norm_forward", row_norm_forward_cuda);
  m.impl("row_norm_backward", row_norm_backward_cuda);
}

}  // namespace evenkeel::ops
