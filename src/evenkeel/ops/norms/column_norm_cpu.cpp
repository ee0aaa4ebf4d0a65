// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/kernels/cpu/portable/column_norm.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/column_norm_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::mutable_data;
using kernels::cpu::ColumnNormParameters;

/// The sum over the rows of one sequence, in the order of kernels/reduction_order.h: add(begin,
/// end, sums) adds those of a block. [D], double
template <typename Add>
Tensor sum_of_columns(std::int64_t rows, std::int64_t width, const Add& add) {
  const auto sums = at::zeros({kernels::blocks_of(rows, kernels::kBlockRows), width}, at::kDouble);
  auto* const all = mutable_data<double>(sums);
  cpu::for_each_block(rows, kernels::kBlockRows,
                      [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                        add(begin, end, all + block * width);
                      });
  return cpu::tree_sum(sums);
}

/// Mean and variance of the columns of one sequence [n, D], in double; sums are relative to its
/// first row.
template <typename T>
std::tuple<Tensor, Tensor> moments_of(const T* x, const Tensor& first, std::int64_t rows,
                                      std::int64_t width) {
  const auto* const origin = const_data<double>(first, width);
  const auto sum = sum_of_columns(rows, width, [&](auto begin, auto end, double* sums) {
    kernels::cpu::add_column_sums(x + begin * width, origin, sums, end - begin, width);
  });
  const auto mean = first + sum / static_cast<double>(rows);
  const auto* const centre = const_data<double>(mean, width);
  const auto squares = sum_of_columns(rows, width, [&](auto begin, auto end, double* sums) {
    kernels::cpu::add_column_squares(x + begin * width, centre, sums, end - begin, width);
  });
  return {mean, squares / static_cast<double>(rows)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> column_norm_forward_cpu(
    const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias, double epsilon,
    std::int64_t epsilon_at) {
  const auto all = x.contiguous();
  const auto sequences = x.size(0), rows = x.size(1), width = x.size(2);
  const auto gains = double_vector_or(gain, 1, x), biases = double_vector_or(bias, 0, x);
  const auto placement = static_cast<EpsilonAt>(epsilon_at);
  auto y = empty_contiguous_like(x);
  const auto means = at::empty({sequences, width}, at::kDouble);
  const auto variances = at::empty_like(means), rhos = at::empty_like(means);
  const auto slopes = at::empty_like(means);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "column_norm_forward", [&] {
    for (std::int64_t s = 0; s < sequences; ++s) {
      const auto* const from = const_data<scalar_t>(all, x.numel()) + s * rows * width;
      auto* const to = mutable_data<scalar_t>(y) + s * rows * width;
      const auto [mean, variance] = moments_of(from, all[s][0].to(at::kDouble), rows, width);
      // A column without extent gives zeros, and a finite gradient.
      const auto rho = reference::inverse_root(variance, epsilon, placement).nan_to_num(0, 0, 0);
      means[s].copy_(mean);
      variances[s].copy_(variance);
      rhos[s].copy_(rho);
      slopes[s].copy_(column_slope(variance, rho, epsilon, placement, rows));
      const ColumnNormParameters parameters = {
          const_data<double>(mean, width), const_data<double>(rho, width),
          const_data<double>(gains, width), const_data<double>(biases, width)};
      cpu::for_each_block(rows, kernels::kBlockRows, [&](auto /*block*/, auto begin, auto end) {
        kernels::cpu::column_norm_rows(from + begin * width, parameters, to + begin * width,
                                       end - begin, width);
      });
    }
  });
  return {y, means, variances, rhos, slopes};
}

std::tuple<Tensor, Tensor, Tensor> column_norm_backward_cpu(const Tensor& dy, const Tensor& x,
                                                            const OptionalTensor& gain,
                                                            const OptionalTensor& bias,
                                                            const Tensor& mean, const Tensor& rho,
                                                            const Tensor& slope) {
  const auto upstream = dy.contiguous(), all = x.contiguous();
  const auto sequences = x.size(0), rows = x.size(1), width = x.size(2);
  const auto gains = double_vector_or(gain, 1, x);
  auto dx = empty_contiguous_like(x);
  const auto dgains = at::zeros({sequences, width}, at::kDouble), dbiases = at::zeros_like(dgains);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "column_norm_backward", [&] {
    for (std::int64_t s = 0; s < sequences; ++s) {
      const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel()) + s * rows * width;
      const auto* const x_rows = const_data<scalar_t>(all, x.numel()) + s * rows * width;
      auto* const to = mutable_data<scalar_t>(dx) + s * rows * width;
      const ColumnNormParameters parameters = {
          const_data<double>(mean, sequences * width) + s * width,
          const_data<double>(rho, sequences * width) + s * width, const_data<double>(gains, width),
          nullptr};
      const auto both = sum_of_columns(rows, 2 * width, [&](auto begin, auto end, double* sums) {
        kernels::cpu::add_column_gradients(dy_rows + begin * width, x_rows + begin * width,
                                           parameters, sums, sums + width, end - begin, width);
      });
      dgains[s].copy_(both.narrow(0, 0, width));
      dbiases[s].copy_(both.narrow(0, width, width));
      const auto mean_dy = dbiases[s] / static_cast<double>(rows);
      const auto projection = slope[s] * dgains[s];
      const kernels::cpu::ColumnProjections projections = {const_data<double>(mean_dy, width),
                                                           const_data<double>(projection, width)};
      cpu::for_each_block(rows, kernels::kBlockRows, [&](auto /*block*/, auto begin, auto end) {
        kernels::cpu::column_norm_rows_backward(dy_rows + begin * width, x_rows + begin * width,
                                                parameters, projections, to + begin * width,
                                                end - begin, width);
      });
    }
  });
  return {dx, vector_gradient(cpu::tree_sum(dgains), gain),
          vector_gradient(cpu::tree_sum(dbiases), bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("column_norm_forward", column_norm_forward_cpu);
  m.impl("column_norm_backward", column_norm_backward_cpu);
}

}  // namespace evenkeel::ops
