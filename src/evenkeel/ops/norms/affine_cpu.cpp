// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "evenkeel/kernels/cpu/portable/affine.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/rows_view.h"
#include "evenkeel/ops/common/serial_libraries.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;

Tensor affine_forward_cpu(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias) {
  const auto rows = rows_view(x);
  const auto gains = group_vector_or(gain, 1, x);
  const auto biases = group_vector_or(bias, 0, x);
  const auto width = width_of(x);
  auto y = empty_contiguous_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    const auto* const bias_data = const_data<OpMathType<KernelType<scalar_t>>>(biases, width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(x), [&](std::int64_t row) {
      kernels::cpu::affine_row(from + rows.offset(row), gain_data, bias_data, to + row * width,
                               width);
    });
  });
  return y;
}

/// Calls work(row, count, x) until each of the rows [begin, end) was in one call: all at once if
/// they are adjacent, else as many as the kernel adds up at once, so that the gradients of gain and
/// bias have the bits of those of adjacent rows. Fewer adjacent rows than that are copied into a
/// cache first.
/// \param values  the first value of the view
template <typename T, typename Work>
void for_each_adjacent_rows(const RowsView& view, const T* values, std::int64_t begin,
                            std::int64_t end, const Work& work) {
  constexpr std::int64_t kAtOnce = 4;
  const auto are_adjacent = [&](std::int64_t row, std::int64_t count) {
    return row % view.run + count <= view.run;
  };
  if (are_adjacent(begin, end - begin))
    return work(begin, end - begin, values + view.offset(begin));
  std::vector<T> copy(static_cast<std::size_t>(kAtOnce * view.width));
  for (auto row = begin; row < end; row += kAtOnce) {
    const auto count = std::min(kAtOnce, end - row);
    if (are_adjacent(row, count)) {
      work(row, count, values + view.offset(row));
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::copy_n(values + view.offset(row + i), view.width, copy.data() + i * view.width);
    }
    work(row, count, std::as_const(copy).data());
  }
}

/// cpu::vector_gradient_from_blocks(), also of [G], one value for each D / G features.
Tensor gradient_of_groups(const Tensor& sums, const OptionalTensor& vector) {
  if (!is_group_vector(vector, sums)) return cpu::vector_gradient_from_blocks(sums, vector);
  const SerialLibraries one_thread;  // whose sums have one order
  return vector_gradient(group_sums(cpu::tree_sum(sums), vector->size(0)), vector);
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_cpu(const Tensor& dy, const Tensor& x,
                                                       const OptionalTensor& gain,
                                                       const OptionalTensor& bias) {
  const auto upstream = dy.contiguous();
  const auto rows = rows_view(x);
  const auto gains = group_vector_or(gain, 1, x);
  const auto width = width_of(x);
  auto dx = empty_contiguous_like(x);
  const auto gain_sums = gain ? zero_block_sums(x) : Tensor();
  const auto bias_sums = bias ? zero_block_sums(x) : Tensor();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "affine_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, x.numel());
    const auto* const x_rows = const_data<scalar_t>(rows.tensor);
    const auto* const gain_data = const_data<OpMathType<KernelType<scalar_t>>>(gains, width);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = gain ? mutable_data<double>(gain_sums) : nullptr;
    auto* const dbias = bias ? mutable_data<double>(bias_sums) : nullptr;
    const auto each_block = [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
      for_each_adjacent_rows(rows, x_rows, begin, end, [&](auto row, auto count, const auto* from) {
        kernels::cpu::affine_backward<KernelType<scalar_t>>(
            {.dy = dy_rows + row * width,
             .x = from,
             .gain = gain_data,
             .dx = to + row * width,
             .dgain = dgain == nullptr ? nullptr : dgain + block * width,
             .dbias = dbias == nullptr ? nullptr : dbias + block * width},
            count, width);
      });
    };
    cpu::for_each_block(row_count(x), kernels::kBlockRows, each_block);
  });
  return {dx, gradient_of_groups(gain_sums, gain), gradient_of_groups(bias_sums, bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("affine_forward", affine_forward_cpu);
  m.impl("affine_backward", affine_backward_cpu);
}

}  // namespace evenkeel::ops
