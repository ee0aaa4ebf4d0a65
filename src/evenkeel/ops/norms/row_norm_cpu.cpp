// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>

#include "evenkeel/kernels/cpu/portable/row_norm.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/rows_view.h"
#include "evenkeel/ops/norms/row_norm.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;
using kernels::cpu::RowDenominator;
using kernels::cpu::RowNormGradient;

/// The width of a group.
std::int64_t width_of_group(const Tensor& x, std::int64_t groups) {
  TORCH_CHECK(groups >= 1 && width_of(x) % groups == 0, "[row_norm] groups must divide the width ",
              width_of(x), ", but is ", groups);
  return width_of(x) / groups;
}

/// Calls work(row, count, group) for a few rows of each group, then for the next few: they stay in
/// a cache.
template <typename Work>
void for_each_part(std::int64_t begin, std::int64_t end, std::int64_t groups, const Work& work) {
  constexpr std::int64_t kRows = 4;
  for (auto row = begin; row < end; row += kRows) {
    for (std::int64_t group = 0; group < groups; ++group) {
      work(row, std::min(kRows, end - row), group);
    }
  }
}

RowDenominator denominator_of(std::int64_t width, bool centred, double partial, bool length,
                              double epsilon, std::int64_t epsilon_at, bool absmax8) {
  const auto partial_width = static_cast<std::int64_t>(partial * static_cast<double>(width));
  return {.is_centred = centred,
          .partial_width = std::min(width, std::max<std::int64_t>(1, partial_width)),
          .is_length = length,
          .epsilon = epsilon,
          .epsilon_at = static_cast<RowDenominator::EpsilonAt>(epsilon_at),
          .absmax8 = absmax8};
}

Tensor row_norm_forward_cpu(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                            std::int64_t groups, bool centred, double partial, bool length,
                            double epsilon, std::int64_t epsilon_at, bool absmax8) {
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto biases = vector_or(bias, 0, x);
  const auto width = width_of(x), group_width = width_of_group(x, groups);
  const auto denominator =
      denominator_of(group_width, centred, partial, length, epsilon, epsilon_at, absmax8);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "row_norm_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const bias_data = const_data<OpMathType<KernelType<scalar_t>>>(biases, width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      for (std::int64_t first = 0; first < width; first += group_width) {
        const auto place = row * width + first;
        kernels::cpu::row_norm_row(from + rows.offset(row) + first, gain_data + first,
                                   bias_data + first, to + place, group_width, denominator);
      }
    });
  });
  return y;
}

/// The tensors of a backward pass.
struct RowNormOperands {
  Tensor dy;  // contiguous
  RowsView x;
  Tensor gain;   // [D]
  Tensor dx;     // written
  Tensor dgain;  // zero_block_sums(), or undefined; added to
  Tensor dbias;  // the same
  std::int64_t width, group_width;
};

/// The first group of the first row.
template <typename scalar_t>
RowNormGradient<KernelType<scalar_t>> first_group(const RowNormOperands& in) {
  return {.dy = const_data<scalar_t>(in.dy),
          .x = const_data<scalar_t>(in.x.tensor),
          .gain = const_data<OpMathType<KernelType<scalar_t>>>(in.gain),
          .dx = mutable_data<scalar_t>(in.dx),
          .dgain = in.dgain.defined() ? mutable_data<double>(in.dgain) : nullptr,
          .dbias = in.dbias.defined() ? mutable_data<double>(in.dbias) : nullptr,
          .stride = in.width,
          .width = in.group_width};
}

/// Rows from `row` on of the group whose first feature is `first`.
template <typename T>
RowNormGradient<T> group_of(RowNormGradient<T> group, const RowsView& x, std::int64_t block,
                            std::int64_t row, std::int64_t first) {
  const auto place = row * group.stride + first, sum = block * group.stride + first;
  group.dy += place, group.dx += place, group.x += x.offset(row) + first, group.gain += first;
  if (group.dgain != nullptr) group.dgain += sum;
  if (group.dbias != nullptr) group.dbias += sum;
  return group;
}

std::tuple<Tensor, Tensor, Tensor> row_norm_backward_cpu(
    const Tensor& dy, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    std::int64_t groups, bool centred, double partial, bool length, double epsilon,
    std::int64_t epsilon_at, bool absmax8) {
  const RowNormOperands in = {.dy = dy.contiguous(),
                              .x = rows_view(x),
                              .gain = vector_or(gain, 1, x),
                              .dx = empty_contiguous_like(x),
                              .dgain = gain ? zero_block_sums(x) : Tensor(),
                              .dbias = bias ? zero_block_sums(x) : Tensor(),
                              .width = width_of(x),
                              .group_width = width_of_group(x, groups)};
  cpu::check_contiguous_cpu(in.dy, x.numel());
  cpu::check_contiguous_cpu(in.gain, in.width);
  const auto denominator =
      denominator_of(in.group_width, centred, partial, length, epsilon, epsilon_at, absmax8);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "row_norm_backward", [&] {
    const auto whole = first_group<scalar_t>(in);
    cpu::for_each_run_of_blocks(
        in.x, row_count(x), [&](std::int64_t block, std::int64_t row, std::int64_t count) {
          for_each_part(row, row + count, groups, [&](auto first, auto few, auto group) {
            kernels::cpu::row_norm_backward(
                group_of(whole, in.x, block, first, group * in.group_width), few, denominator);
          });
        });
  });
  return {in.dx, cpu::vector_gradient_from_blocks(in.dgain, gain),
          cpu::vector_gradient_from_blocks(in.dbias, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("row_norm_forward", row_norm_forward_cpu);
  m.impl("row_norm_backward", row_norm_backward_cpu);
}

}  // namespace evenkeel::ops
