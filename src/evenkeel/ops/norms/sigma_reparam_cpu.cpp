// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/row_blas.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;

template <typename scalar_t>
using OpMathOf = kernels::cpu::OpMathType<KernelType<scalar_t>>;

/// Calls work(row, offset of its first value) for every row of a matrix, in parallel.
template <typename Work>
void for_each_matrix_row(const Tensor& matrix, const Work& work) {
  const auto width = matrix.size(1);
  cpu::for_each_row(matrix.size(0), [&](std::int64_t i) { work(i, i * width); });
}

/// The dot product of each row of w with the same row of `other`, or with `other`. [rows], double
/// \param w      [rows, columns], contiguous
/// \param other  [rows, columns] of the dtype of w, or [columns]
Tensor row_dots(const Tensor& w, const Tensor& other) {
  const auto sums = empty_row_statistic(w);
  auto* const to = mutable_data<double>(sums);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "row_dots", [&] {
    const auto* const from = const_data<scalar_t>(w);
    const auto by_rows = [&](const auto* by, std::int64_t stride) {
      for_each_matrix_row(w, [&, by, stride](std::int64_t i, std::int64_t at) {
        to[i] = kernels::cpu::dot_row(from + at, by + i * stride, w.size(1));
      });
    };
    other.dim() == 2 ? by_rows(const_data<scalar_t>(other, w.numel()), w.size(1))
                     : by_rows(const_data<OpMathOf<scalar_t>>(other, w.size(1)), 0);
  });
  return sums;
}

/// W^T left. [columns], double
Tensor transposed_matvec(const Tensor& w, const Tensor& left) {
  const auto sums = zero_block_sums(w);
  auto* const to = mutable_data<double>(sums);
  const auto width = w.size(1);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "transposed_matvec", [&] {
    const auto* const from = const_data<scalar_t>(w);
    const auto* const factor = const_data<OpMathOf<scalar_t>>(left, w.size(0));
    cpu::for_each_row_of_blocks(w.size(0), [&](std::int64_t i, std::int64_t block) {
      kernels::cpu::axpy_row(from + i * width, static_cast<double>(factor[i]), to + block * width,
                             width);
    });
  });
  return cpu::tree_sum(sums);
}

/// The sum of values of double, in one order.
double sum_of(const Tensor& values) {
  return cpu::tree_sum(values.unsqueeze(1).clone()).item<double>();
}

/// \return w, and left . V right as a scalar of float64
std::tuple<Tensor, Tensor> sigma_reparam_forward_cpu(const Tensor& v_any, const Tensor& gamma,
                                                     const Tensor& left, const Tensor& right) {
  const auto v = v_any.contiguous();
  const double found = sum_of(left.to(at::kDouble) * row_dots(v, right));
  const double factor = gamma.item<double>() / (found == 0 ? 1 : found);
  const auto w = empty_contiguous_like(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_reparam", [&] {
    const auto* const from = const_data<scalar_t>(v);
    auto* const to = mutable_data<scalar_t>(w);
    for_each_matrix_row(v, [&](std::int64_t, std::int64_t at) {
      kernels::cpu::scale_row(from + at, factor, to + at, v.size(1));
    });
  });
  return {w, at::scalar_tensor(found, at::kDouble)};
}

/// dV = (gamma / sigma) (dW - (sum(dW V) / sigma) left right^T)
std::tuple<Tensor, Tensor> sigma_reparam_backward_cpu(const Tensor& dw_any, const Tensor& v_any,
                                                      const Tensor& gamma, const Tensor& left,
                                                      const Tensor& right,
                                                      const Tensor& sigma_found) {
  const auto dw = dw_any.contiguous(), v = v_any.contiguous();
  cpu::check_contiguous_cpu(dw, v.numel());
  const double found = sigma_found.item<double>();
  const double sigma = found == 0 ? 1 : found;
  const double factor = gamma.item<double>() / sigma;
  const double along = sum_of(row_dots(dw, v)) / sigma;
  const double less = found != 0 ? factor * along : 0;  // sigma moves with V unless it is 0
  const auto dv = empty_contiguous_like(v);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_backward", [&] {
    const auto* const upstream = const_data<scalar_t>(dw);
    const auto* const by_row = const_data<OpMathOf<scalar_t>>(left, v.size(0));
    const auto* const by_column = const_data<OpMathOf<scalar_t>>(right, v.size(1));
    auto* const to = mutable_data<scalar_t>(dv);
    for_each_matrix_row(v, [&](std::int64_t i, std::int64_t at) {
      kernels::cpu::axpby_row(upstream + at, factor, by_column,
                              less * static_cast<double>(by_row[i]), to + at, v.size(1));
    });
  });
  return {dv, at::full_like(gamma, along)};
}

void power_iteration_cpu(const Tensor& v, const Tensor& left, const Tensor& right) {
  check_matrix_vector("power_iteration_", "left", left, v, 0);
  check_matrix_vector("power_iteration_", "right", right, v, 1);
  constexpr double kTiny = 1e-12;
  const auto w = v.contiguous();
  bump_version(left);
  bump_version(right);
  left.copy_(reference::unit_rows(row_dots(w, right.contiguous()), kTiny));
  right.copy_(reference::unit_rows(transposed_matvec(w, left.contiguous()), kTiny));
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("sigma_reparam_forward", sigma_reparam_forward_cpu);
  m.impl("sigma_reparam_backward", sigma_reparam_backward_cpu);
  m.impl("power_iteration_", power_iteration_cpu);
}

}  // namespace evenkeel::ops
