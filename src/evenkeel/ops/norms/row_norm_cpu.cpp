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

std::tuple<Tensor, Tensor, Tensor> row_norm_backward_cpu(
    const Tensor& dy, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    std::int64_t groups, bool centred, double partial, bool length, double epsilon,
    std::int64_t epsilon_at, bool absmax8) {
  const auto upstream = dy.contiguous();
  const auto rows = rows_view(x);
  const auto gains = vector_or(gain, 1, x);
  const auto width = width_of(x), group_width = width_of_group(x, groups);
  const auto denominator =
      denominator_of(group_width, centred, partial, length, epsilon, epsilon_at, absmax8);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = gain ? zero_block_sums(x) : Tensor();
  const auto bias_sums = bias ? zero_block_sums(x) : Tensor();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "row_norm_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = gain ? mutable_data<double>(gain_sums) : nullptr;
    auto* const dbias = bias ? mutable_data<double>(bias_sums) : nullptr;
    const auto group = [&](std::int64_t block, std::int64_t row, std::int64_t first) {
      const auto place = row * width + first, sum = block * width + first;
      return RowNormGradient<KernelType<scalar_t>>{
          .dy = dy_rows + place,
          .x = x_rows + rows.offset(row) + first,
          .gain = gain_data + first,
          .dx = to + place,
          .dgain = dgain == nullptr ? nullptr : dgain + sum,
          .dbias = dbias == nullptr ? nullptr : dbias + sum,
          .stride = width,
          .width = group_width};
    };
    const auto run = [&](std::int64_t block, std::int64_t first, std::int64_t count) {
      for_each_part(first, first + count, groups, [&](auto row, auto few, auto index) {
        kernels::cpu::row_norm_backward(group(block, row, index * group_width), few, denominator);
      });
    };
    cpu::for_each_block(row_count(x), kernels::kBlockRows,
                        [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
                          rows.for_each_run(begin, end,
                                            [&](auto row, auto count) { run(block, row, count); });
                        });
  });
  return {dx, cpu::vector_gradient_from_blocks(gain_sums, gain),
          cpu::vector_gradient_from_blocks(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("row_norm_forward", row_norm_forward_cpu);
  m.impl("row_norm_backward", row_norm_backward_cpu);
}

}  // namespace evenkeel::ops
