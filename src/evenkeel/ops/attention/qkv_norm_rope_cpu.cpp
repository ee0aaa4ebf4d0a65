// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

#include "evenkeel/kernels/cpu/portable/qkv_norm_rope.h"
#include "evenkeel/ops/attention/qkv_norm_rope_common.h"
#include "evenkeel/ops/common/cpu_adapter.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// The gains of q, k and v; null where there is none.
template <typename scalar_t>
auto gains_of(const std::array<QkvPart, 3>& parts, std::int64_t width) {
  std::array<const OpMathType<KernelType<scalar_t>>*, 3> gains = {};
  for (std::size_t p = 0; p < 3; ++p) {
    if (parts[p].gain)
      gains[p] = const_data<OpMathType<KernelType<scalar_t>>>(*parts[p].gain, width);
  }
  return gains;
}

Tensor4 qkv_norm_rope_forward_cpu(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                  std::int64_t kv_heads, const OptionalTensor& q_gain,
                                  const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                  at::ArrayRef<double> epsilon) {
  const auto rows = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, epsilon);
  const auto width = head_width(qkv, heads, kv_heads);
  const auto all = heads + 2 * kv_heads;
  const auto positions = qkv.size(1);
  std::array<Tensor, 3> results;
  for (std::size_t p = 0; p < 3; ++p) {
    results[p] = at::empty({qkv.size(0), positions, parts[p].count, width}, qkv.options());
  }
  const auto rstd = at::empty({qkv.size(0) * positions, all}, qkv.options().dtype(at::kDouble));

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows, qkv.numel());
    const auto* const angle_rows =
        const_data<OpMathType<KernelType<scalar_t>>>(angles, positions * width);
    auto* const scales = mutable_data<double>(rstd);
    const auto gains = gains_of<scalar_t>(parts, width);
    const std::array to = {mutable_data<scalar_t>(results[0]), mutable_data<scalar_t>(results[1]),
                           mutable_data<scalar_t>(results[2])};
    cpu::for_each_row(qkv.size(0) * positions, [&](std::int64_t row) {
      for (std::size_t p = 0; p < 3; ++p) {
        const auto& part = parts[p];
        kernels::cpu::norm_rope<KernelType<scalar_t>>(
            {.x = from + (row * all + part.first) * width,
             .gain = gains[p],
             .cos_sin = part.is_rotated ? angle_rows + row % positions * width : nullptr,
             .y = to[p] + row * part.count * width,
             .rstd = scales + row * all + part.first,
             .count = part.count,
             .width = width,
             .epsilon = part.epsilon});
      }
    });
  });
  return {results[0], results[1], results[2], rstd};
}

Tensor4 qkv_norm_rope_backward_cpu(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                   const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& q_gain,
                                   const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                   const Tensor& rstd) {
  const std::array<Tensor, 3> upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()};
  const auto rows = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, {0, 0, 0});
  const auto width = head_width(qkv, heads, kv_heads);
  const auto all = heads + 2 * kv_heads;
  const auto positions = qkv.size(1);
  const auto count = qkv.size(0) * positions;
  auto dx = empty_contiguous_like(qkv);
  const auto blocks = kernels::blocks_of(count, kernels::kBlockRows);
  const auto sums = at::zeros({blocks, 3 * width}, qkv.options().dtype(at::kDouble));

  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_backward", [&] {
    const auto* const from = const_data<scalar_t>(rows, qkv.numel());
    const auto* const angle_rows =
        const_data<OpMathType<KernelType<scalar_t>>>(angles, positions * width);
    const auto* const scales = const_data<double>(rstd, count * all);
    auto* const to = mutable_data<scalar_t>(dx);
    auto* const dgain = mutable_data<double>(sums);
    const auto gains = gains_of<scalar_t>(parts, width);
    std::array<const KernelType<scalar_t>*, 3> dy = {};
    for (std::size_t p = 0; p < 3; ++p) {
      dy[p] = const_data<scalar_t>(upstream[p], count * parts[p].count * width);
    }
    cpu::for_each_block(
        count, kernels::kBlockRows, [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
          std::vector<double> scratch(static_cast<std::size_t>(width));
          for (auto row = begin; row < end; ++row) {
            for (std::size_t p = 0; p < 3; ++p) {
              const auto& part = parts[p];
              const auto at = (row * all + part.first) * width;
              kernels::cpu::norm_rope_backward<KernelType<scalar_t>>(
                  {.dy = dy[p] + row * part.count * width,
                   .x = from + at,
                   .gain = gains[p],
                   .cos_sin = part.is_rotated ? angle_rows + row % positions * width : nullptr,
                   .rstd = scales + row * all + part.first,
                   .dx = to + at,
                   .dgain = dgain + (block * 3 + static_cast<std::int64_t>(p)) * width,
                   .scratch = scratch.data(),
                   .count = part.count,
                   .width = width});
            }
          }
        });
  });
  const auto total = cpu::tree_sum(sums);
  const auto gradient = [&](std::int64_t p, const OptionalTensor& gain) {
    return vector_gradient(total.narrow(0, p * width, width), gain);
  };
  return {dx, gradient(0, q_gain), gradient(1, k_gain), gradient(2, v_gain)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_cpu);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_cpu);
}

}  // namespace evenkeel::ops
