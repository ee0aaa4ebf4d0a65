// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/affine.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_row_gradient.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;

/// [D], or undefined for an absent vector.
Tensor expanded(const OptionalTensor& vector, const Tensor& x) {
  return vector ? group_vector_or(vector, 0, x) : Tensor();
}

Tensor affine_forward_cuda(const Tensor& x, const OptionalTensor& gain,
                           const OptionalTensor& bias) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto rows = x.contiguous();
  const auto gains = expanded(gain, x), biases = expanded(bias, x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_forward", [&] {
    using Vector = OpMathType<KernelType<scalar_t>>;
    cuda::check(
        kernels::cuda::affine<KernelType<scalar_t>>({.x = const_data<scalar_t>(rows),
                                                     .gain = cuda::data_or_null<Vector>(gains),
                                                     .bias = cuda::data_or_null<Vector>(biases),
                                                     .y = mutable_data<scalar_t>(y)},
                                                    row_count(x), width_of(x), cuda::stream()));
  });
  return y;
}

/// Whether a value of the vector is for several features.
bool is_shared(const OptionalTensor& vector, const Tensor& x) {
  return vector && vector->size(0) != width_of(x);
}

/// The gradient of a vector [D] or [G] from its partial sums.
Tensor gradient_from(const Tensor& partials, const OptionalTensor& vector, const Tensor& x) {
  if (!vector) return empty_vector_gradient(vector, x);
  if (!is_shared(vector, x)) {
    return cuda::total_of(partials, partials.scalar_type()).to(vector->scalar_type());
  }
  // The partials are in double.
  return vector_gradient(group_sums(cuda::total_of(partials, at::kDouble), vector->size(0)),
                         vector);
}

/// Partial sums in double: several features add up to one value, and may cancel.
template <typename scalar_t>
cuda::PartialSums<double> partials_of_values(const Tensor& dy, const Tensor& x, bool has_gain,
                                             bool has_bias) {
  cuda::PartialSums<double> sums(x, has_gain, has_bias);
  cuda::check(kernels::cuda::row_gradient_by_column<KernelType<scalar_t>>(
      {.dy = const_data<scalar_t>(dy),
       .x = const_data<scalar_t>(x),
       .mean = nullptr,
       .rstd = nullptr},
      sums.pointers(), row_count(x), width_of(x), cuda::stream()));
  return sums;
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_cuda(const Tensor& dy, const Tensor& x,
                                                        const OptionalTensor& gain,
                                                        const OptionalTensor& bias) {
  const c10::cuda::CUDAGuard on_device_of_x(x.device());
  const auto upstream = dy.contiguous();
  const auto rows = x.contiguous();
  const auto gains = expanded(gain, x);
  auto dx = empty_contiguous_like(x);
  Tensor dgain, dbias;
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_backward", [&] {
    const bool has_gain = gain.has_value(), has_bias = bias.has_value();
    kernels::cuda::AffineGradientRows<KernelType<scalar_t>> args{
        .dy = const_data<scalar_t>(upstream),
        .x = const_data<scalar_t>(rows),
        .gain = cuda::data_or_null<OpMathType<KernelType<scalar_t>>>(gains),
        .dx = mutable_data<scalar_t>(dx),
        .partials = {}};
    const auto set_gradients = [&](const auto& sums) {
      dgain = gradient_from(sums.dgain, gain, x);
      dbias = gradient_from(sums.dbias, bias, x);
    };
    if (is_shared(gain, x) || is_shared(bias, x)) {
      cuda::check(kernels::cuda::affine<KernelType<scalar_t>>(
          {.x = args.dy, .gain = args.gain, .bias = nullptr, .y = args.dx}, row_count(x),
          width_of(x), cuda::stream()));
      set_gradients(partials_of_values<scalar_t>(upstream, rows, has_gain, has_bias));
      return;
    }
    const cuda::PartialSums<scalar_t> sums(x, has_gain, has_bias);
    args.partials = sums.pointers();
    cuda::check(kernels::cuda::affine_backward(args, row_count(x), width_of(x), cuda::stream()));
    set_gradients(sums);
  });
  return {dx, dgain, dbias};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("affine_forward", affine_forward_cuda);
  m.impl("affine_backward", affine_backward_cuda);
}

}  // namespace evenkeel::ops
