// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/reparameterized_weight.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "evenkeel/base/error.h"
#include "evenkeel/kernels/cpu/portable/row_blas.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"

namespace evenkeel::nn {

namespace {

using at::Tensor;
using ops::cpu::const_data;
using ops::cpu::for_each_row;
using ops::cpu::KernelType;
using ops::cpu::mutable_data;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

template <typename scalar_t>
using OpMathOf = kernels::cpu::OpMathType<KernelType<scalar_t>>;

/// Calls work(row, offset of its first value) for every row of a matrix, in parallel.
template <typename Work>
void for_each_matrix_row(const Tensor& matrix, const Work& work) {
  const auto width = matrix.size(1);
  for_each_row(matrix.size(0), [&](std::int64_t i) { work(i, i * width); });
}

class WeightNorm : public torch::autograd::Function<WeightNorm> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& v, const Tensor& row_gain) {
    ctx->save_for_backward({v, row_gain});
    const auto w = ops::empty_contiguous_like(v);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm", [&] {
      const auto* const from = const_data<scalar_t>(v);
      const auto* const gain = const_data<OpMathOf<scalar_t>>(row_gain);
      auto* const to = mutable_data<scalar_t>(w);
      for_each_matrix_row(v, [&](std::int64_t i, std::int64_t at) {
        kernels::cpu::weight_norm_row(from + at, gain[i], to + at, v.size(1));
      });
    });
    return w;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto v = saved[0], row_gain = saved[1], dw = upstream[0].contiguous();
    const auto dv = ops::empty_contiguous_like(v), dgain = ops::empty_contiguous_like(row_gain);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "weight_norm_backward", [&] {
      const auto* const above = const_data<scalar_t>(dw);
      const auto* const from = const_data<scalar_t>(v);
      const auto* const gain = const_data<OpMathOf<scalar_t>>(row_gain);
      auto* const to = mutable_data<scalar_t>(dv);
      auto* const to_gain = mutable_data<OpMathOf<scalar_t>>(dgain);
      for_each_matrix_row(v, [&](std::int64_t i, std::int64_t at) {
        to_gain[i] = static_cast<OpMathOf<scalar_t>>(kernels::cpu::weight_norm_row_backward(
            above + at, from + at, gain[i], to + at, v.size(1)));
      });
    });
    return {dv, dgain};
  }
};

/// Of each row of w its dot product with the same row of `other`, or with `other`; in double.
/// \param other  [rows, columns] of the dtype of w, or [columns]
Tensor row_dots(const Tensor& w, const Tensor& other) {
  const auto sums = ops::empty_row_statistic(w);
  auto* const to = mutable_data<double>(sums);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "row_dots", [&] {
    const auto* const from = const_data<scalar_t>(w);
    const auto by_rows = [&](const auto* by, std::int64_t stride) {
      for_each_matrix_row(w, [&, by, stride](std::int64_t i, std::int64_t at) {
        to[i] = kernels::cpu::dot_row(from + at, by + i * stride, w.size(1));
      });
    };
    other.dim() == 2 ? by_rows(const_data<scalar_t>(other), w.size(1))
                     : by_rows(const_data<OpMathOf<scalar_t>>(other), 0);
  });
  return sums;
}

/// W^T left, in double.
Tensor transposed_matvec(const Tensor& w, const Tensor& left) {
  const auto sums = ops::zero_block_sums(w);
  auto* const to = mutable_data<double>(sums);
  const auto width = w.size(1);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, w.scalar_type(), "transposed_matvec", [&] {
    const auto* const from = const_data<scalar_t>(w);
    const auto* const factor = const_data<OpMathOf<scalar_t>>(left);
    ops::cpu::for_each_row_of_blocks(w.size(0), [&](std::int64_t i, std::int64_t block) {
      kernels::cpu::axpy_row(from + i * width, static_cast<double>(factor[i]), to + block * width,
                             width);
    });
  });
  return ops::cpu::tree_sum(sums);
}

/// The sum of values of double, in one order.
double sum_of(const Tensor& values) {
  return ops::cpu::tree_sum(values.unsqueeze(1).clone()).item<double>();
}

void check_vector(const Tensor& v, const Tensor& vector, std::int64_t size) {
  EK_ASSERT(vector.dim() == 1 && vector.size(0) == size && vector.is_contiguous() &&
            vector.scalar_type() == ops::opmath_dtype(v.scalar_type()));
}

class SigmaReparam : public torch::autograd::Function<SigmaReparam> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& v, const Tensor& gamma,
                        const Tensor& left, const Tensor& right) {
    const double found = sum_of(left.to(at::kDouble) * row_dots(v, right));
    const double sigma = found == 0 ? 1 : found;
    // Clones, since a later pass moves the state while this pass's graph still needs it.
    ctx->save_for_backward({v, gamma, left.clone(), right.clone()});
    ctx->saved_data["sigma"] = sigma;
    ctx->saved_data["moves"] = found != 0;  // with V
    const auto w = ops::empty_contiguous_like(v);
    const double factor = gamma.item<double>() / sigma;
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_reparam", [&] {
      const auto* const from = const_data<scalar_t>(v);
      auto* const to = mutable_data<scalar_t>(w);
      for_each_matrix_row(v, [&](std::int64_t, std::int64_t at) {
        kernels::cpu::scale_row(from + at, factor, to + at, v.size(1));
      });
    });
    return w;
  }

  /// dV = (gamma / sigma) (dW - (sum(dW V) / sigma) left right^T)
  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    const auto saved = ctx->get_saved_variables();
    const auto v = saved[0], gamma = saved[1], left = saved[2], right = saved[3];
    const auto dw = upstream[0].contiguous();
    const double sigma = ctx->saved_data["sigma"].toDouble();
    const double factor = gamma.item<double>() / sigma;
    const double along = sum_of(row_dots(dw, v)) / sigma;
    const double less = ctx->saved_data["moves"].toBool() ? factor * along : 0;
    const auto dv = ops::empty_contiguous_like(v);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, v.scalar_type(), "sigma_backward", [&] {
      const auto* const above = const_data<scalar_t>(dw);
      const auto* const by_row = const_data<OpMathOf<scalar_t>>(left);
      const auto* const by_column = const_data<OpMathOf<scalar_t>>(right);
      auto* const to = mutable_data<scalar_t>(dv);
      for_each_matrix_row(v, [&](std::int64_t i, std::int64_t at) {
        kernels::cpu::axpby_row(above + at, factor, by_column,
                                less * static_cast<double>(by_row[i]), to + at, v.size(1));
      });
    });
    return {dv, at::full_like(gamma, along), Tensor(), Tensor()};
  }
};

Tensor unit(const Tensor& v) {
  return ops::reference::unit_rows(v, 1e-12);
}

/// W v as sums of rows.
Tensor matvec(const Tensor& w, const Tensor& v) {
  return (w * v).sum(-1);
}

}  // namespace

Tensor weight_norm(const Tensor& v, const Tensor& row_gain, bool fused) {
  check_vector(v, row_gain, v.size(0));
  if (fused && v.is_cpu()) return WeightNorm::apply(v.contiguous(), row_gain);
  return ops::reference::weight_norm_rows(v.to(row_gain.scalar_type()), row_gain)
      .to(v.scalar_type());
}

Tensor sigma_reparam(const Tensor& v, const Tensor& gamma, const Tensor& left, const Tensor& right,
                     bool fused) {
  check_vector(v, gamma, 1);
  check_vector(v, left, v.size(0));
  check_vector(v, right, v.size(1));
  if (fused && v.is_cpu()) return SigmaReparam::apply(v.contiguous(), gamma, left, right);
  // Clones, since a later pass moves the state while this pass's graph still needs it.
  return ops::reference::sigma_rows(v.to(gamma.scalar_type()), gamma, left.clone(), right.clone())
      .to(v.scalar_type());
}

void power_iteration(const Tensor& v, const Tensor& left, const Tensor& right) {
  const at::NoGradGuard no_grad;
  if (v.is_cpu()) {
    check_vector(v, left, v.size(0));
    check_vector(v, right, v.size(1));
    const auto w = v.contiguous();
    left.copy_(unit(row_dots(w, right)));
    right.copy_(unit(transposed_matvec(w, left)));
    return;
  }
  const auto wide = v.to(left.scalar_type());
  left.copy_(unit(matvec(wide, right)));
  right.copy_(unit(matvec(wide.t().contiguous(), left)));
}

}  // namespace evenkeel::nn
