// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/column_norm.cuh"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_vector_gradient.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/column_norm_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::OpMathType;
using kernels::cuda::RowGroups;

RowGroups sequences_of(const Tensor& x) {
  return {.groups = x.size(0), .rows = x.size(1)};
}

/// [blocks of rows, sequences * D], float64, uninitialized
Tensor empty_sequence_sums(const Tensor& x) {
  return cuda::empty_block_sums(x.size(1), x.size(0) * x.size(2), x);
}

/// The first row of each sequence. [sequences, D], float64
Tensor first_rows(const Tensor& x) {
  return x.select(1, 0).to(at::kDouble);
}

/// In the type of arithmetic on x.
Tensor as_opmath(const Tensor& values, const Tensor& x) {
  return values.to(opmath_dtype(x.scalar_type())).contiguous();
}

/// The means over each sequence of x - first row, or of the squares of its deviations.
/// \param offset  [sequences, D] of the type of arithmetic; undefined: 0, without squares
/// \return [sequences, D], float64
Tensor column_means(const Tensor& x, const Tensor& offset) {
  const auto sums = empty_sequence_sums(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "column_moments", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::column_moments<KernelType<scalar_t>>(
        const_data<scalar_t>(x), offset.defined() ? const_data<F>(offset) : nullptr,
        mutable_data<double>(sums), sequences_of(x), x.size(2), cuda::stream()));
  });
  return cuda::block_total(sums).view({x.size(0), x.size(2)}) / static_cast<double>(x.size(1));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> column_norm_forward_cuda(
    const Tensor& x_any, const OptionalTensor& gain, const OptionalTensor& bias, double epsilon,
    std::int64_t epsilon_at) {
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto x = x_any.contiguous();
  const auto placement = static_cast<EpsilonAt>(epsilon_at);
  const auto from_first = column_means(x, {});
  const auto offset = as_opmath(from_first, x);
  const auto variance = column_means(x, offset);
  // A column without extent gives zeros, and a finite gradient.
  const auto rho = reference::inverse_root(variance, epsilon, placement).nan_to_num(0, 0, 0);
  const auto rhos = as_opmath(rho, x);
  const auto gains = as_opmath(double_vector_or(gain, 1, x), x);
  const auto biases = as_opmath(double_vector_or(bias, 0, x), x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "column_norm_forward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(kernels::cuda::column_norm<KernelType<scalar_t>>({.x = const_data<scalar_t>(x),
                                                                  .offset = const_data<F>(offset),
                                                                  .rho = const_data<F>(rhos),
                                                                  .gain = const_data<F>(gains),
                                                                  .bias = const_data<F>(biases),
                                                                  .y = mutable_data<scalar_t>(y)},
                                                                 sequences_of(x), x.size(2),
                                                                 cuda::stream()));
  });
  return {y, first_rows(x) + from_first, variance, rho,
          column_slope(variance, rho, epsilon, placement, x.size(1))};
}

std::tuple<Tensor, Tensor, Tensor> column_norm_backward_cuda(
    const Tensor& dy_any, const Tensor& x_any, const OptionalTensor& gain,
    const OptionalTensor& bias, const Tensor& mean, const Tensor& rho, const Tensor& slope) {
  const c10::cuda::CUDAGuard on_device_of_x(x_any.device());
  const auto dy = dy_any.contiguous(), x = x_any.contiguous();
  const auto width = x.size(2);
  const auto offset = as_opmath(mean - first_rows(x), x), rhos = as_opmath(rho, x);
  const auto gains = as_opmath(double_vector_or(gain, 1, x), x);
  const auto gain_sums = empty_sequence_sums(x), bias_sums = empty_sequence_sums(x);
  auto dx = empty_contiguous_like(x);
  Tensor dgain, dbias;  // [sequences, D], float64
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "column_norm_backward", [&] {
    using Kernel = KernelType<scalar_t>;
    using F = OpMathType<Kernel>;
    const kernels::cuda::ColumnNormGradientRows<Kernel> rows = {.dy = const_data<scalar_t>(dy),
                                                                .x = const_data<scalar_t>(x),
                                                                .offset = const_data<F>(offset),
                                                                .rho = const_data<F>(rhos)};
    cuda::check(kernels::cuda::column_norm_sums(rows, mutable_data<double>(gain_sums),
                                                mutable_data<double>(bias_sums), sequences_of(x),
                                                width, cuda::stream()));
    dgain = cuda::block_total(gain_sums).view({x.size(0), width});
    dbias = cuda::block_total(bias_sums).view({x.size(0), width});
    const auto mean_dy = as_opmath(dbias / static_cast<double>(x.size(1)), x);
    const auto projection = as_opmath(slope * dgain, x);
    cuda::check(kernels::cuda::column_norm_backward(
        rows, const_data<F>(mean_dy), const_data<F>(projection), const_data<F>(gains),
        mutable_data<scalar_t>(dx), sequences_of(x), width, cuda::stream()));
  });
  return {dx, vector_gradient(cuda::block_total(dgain), gain),
          vector_gradient(cuda::block_total(dbias), bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("column_norm_forward", column_norm_forward_cuda);
  m.impl("column_norm_backward", column_norm_backward_cuda);
}

}  // namespace evenkeel::ops
