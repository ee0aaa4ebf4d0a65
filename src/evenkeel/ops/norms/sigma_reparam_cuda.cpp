// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cuda/row_blas.cuh"
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

/// The dot product of each row of w with the same row of `other`, or with `other`. [rows], float64
/// \param w      [rows, columns], contiguous
/// \param other  [rows, columns] of the dtype of w, or [columns]; contiguous
Tensor row_dots_cuda(const Tensor& w, const Tensor& other) {
  const auto dots = empty_row_statistic(w);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "row_dots", [&] {
    using Kernel = KernelType<scalar_t>;
    const auto by = [&](const auto* b, std::int64_t b_stride) {
      cuda::check(kernels::cuda::row_dots<Kernel, std::remove_cvref_t<decltype(*b)>>(
          {.a = const_data<scalar_t>(w),
           .b = b,
           .b_stride = b_stride,
           .dots = mutable_data<double>(dots)},
          w.size(0), w.size(1), cuda::stream()));
    };
    other.dim() == 2 ? by(const_data<scalar_t>(other), w.size(1))
                     : by(const_data<OpMathType<Kernel>>(other), 0);
  });
  return dots;
}

Tensor one_if_zero(const Tensor& value) {
  return at::where(value == 0, 1.0, value);
}

/// \return w, and left . V right as a scalar of float64
std::tuple<Tensor, Tensor> sigma_reparam_forward_cuda(const Tensor& v_any, const Tensor& gamma,
                                                      const Tensor& left, const Tensor& right) {
  const c10::cuda::CUDAGuard on_device_of_v(v_any.device());
  const auto v = v_any.contiguous();
  const auto sigma = cuda::value_total(left.to(at::kDouble) * row_dots_cuda(v, right.contiguous()));
  const auto factor =
      (gamma.to(at::kDouble) / one_if_zero(sigma)).to(opmath_dtype(v.scalar_type()));
  const auto w = empty_contiguous_like(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_reparam", [&] {
    cuda::check(kernels::cuda::scale_rows<KernelType<scalar_t>>(
        {.x = const_data<scalar_t>(v),
         .factor = const_data<OpMathType<KernelType<scalar_t>>>(factor),
         .factor_stride = 0,
         .y = mutable_data<scalar_t>(w)},
        v.size(0), v.size(1), cuda::stream()));
  });
  return {w, sigma.squeeze(0).clone()};
}

/// dV = (gamma / sigma) (dW - (sum(dW V) / sigma) left right^T)
std::tuple<Tensor, Tensor> sigma_reparam_backward_cuda(const Tensor& dw_any, const Tensor& v_any,
                                                       const Tensor& gamma, const Tensor& left,
                                                       const Tensor& right_any,
                                                       const Tensor& sigma_found) {
  const c10::cuda::CUDAGuard on_device_of_v(v_any.device());
  const auto dw = dw_any.contiguous(), v = v_any.contiguous(), right = right_any.contiguous();
  const auto dtype = opmath_dtype(v.scalar_type());
  const auto sigma = one_if_zero(sigma_found);
  const auto wide_factor = gamma.to(at::kDouble) / sigma;
  const auto along = cuda::value_total(row_dots_cuda(dw, v)) / sigma;
  // sigma moves with V unless it is 0
  const auto less = at::where(sigma_found == 0, 0.0, wide_factor * along);
  const auto factor = wide_factor.to(dtype);
  const auto less_of_rows = (less * left.to(at::kDouble)).to(dtype);
  const auto dv = empty_contiguous_like(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_backward", [&] {
    using F = OpMathType<KernelType<scalar_t>>;
    cuda::check(
        kernels::cuda::reduce_rows<KernelType<scalar_t>>({.x = const_data<scalar_t>(dw),
                                                          .factor = const_data<F>(factor),
                                                          .less = const_data<F>(less_of_rows),
                                                          .other = const_data<F>(right),
                                                          .y = mutable_data<scalar_t>(dv)},
                                                         v.size(0), v.size(1), cuda::stream()));
  });
  return {dv, along.to(gamma.scalar_type())};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("sigma_reparam_forward", sigma_reparam_forward_cuda);
  m.impl("sigma_reparam_backward", sigma_reparam_backward_cuda);
}

}  // namespace evenkeel::ops
