// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <utility>
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

/// The gains of q, k and v; null without a norm.
template <typename scalar_t>
auto gains_of(const std::array<QkvPart, 3>& parts, std::int64_t width) {
  std::array<const OpMathType<KernelType<scalar_t>>*, 3> gains = {};
  for (std::size_t p = 0; p < 3; ++p) {
    if (parts[p].gain)
      gains[p] = const_data<OpMathType<KernelType<scalar_t>>>(*parts[p].gain, width);
  }
  return gains;
}

/// The sizes of the products, and their parts.
struct QkvLayout {
  QkvLayout(const Tensor& qkv, std::int64_t heads, std::int64_t kv_heads,
            std::array<QkvPart, 3> of_parts)
      : parts(std::move(of_parts)),
        width(head_width(qkv, heads, kv_heads)),
        all(heads + 2 * kv_heads),
        positions(qkv.size(1)),
        count(qkv.size(0) * qkv.size(1)) {}
  std::array<QkvPart, 3> parts;  // q, k and v
  std::int64_t width;            // of a head
  std::int64_t all;              // heads of a row: of q, k and v
  std::int64_t positions;        // T
  std::int64_t count;            // rows: B * T
};

/// \param rows     [B * T, all * width], contiguous
/// \param cos_sin  [T, width], contiguous
/// \param results  q, k and v; written
/// \param rstd     [B * T, all], double; written
template <typename scalar_t>
void norm_rope_rows(const Tensor& rows, const Tensor& cos_sin, const QkvLayout& layout,
                    const std::array<Tensor, 3>& results, const Tensor& rstd) {
  const auto* const from = const_data<scalar_t>(rows, layout.count * layout.all * layout.width);
  const auto* const angle_rows =
      const_data<OpMathType<KernelType<scalar_t>>>(cos_sin, layout.positions * layout.width);
  auto* const scales = mutable_data<double>(rstd);
  const auto gains = gains_of<scalar_t>(layout.parts, layout.width);
  const std::array to = {mutable_data<scalar_t>(results[0]), mutable_data<scalar_t>(results[1]),
                         mutable_data<scalar_t>(results[2])};
  cpu::for_each_row(layout.count, [&](std::int64_t row) {
    for (std::size_t p = 0; p < 3; ++p) {
      const auto& part = layout.parts[p];
      kernels::cpu::norm_rope<KernelType<scalar_t>>(
          {.x = from + (row * layout.all + part.first) * layout.width,
           .gain = gains[p],
           .cos_sin =
               part.is_rotated ? angle_rows + row % layout.positions * layout.width : nullptr,
           .y = to[p] + row * part.count * layout.width,
           .rstd = scales + row * layout.all + part.first,
           .count = part.count,
           .width = layout.width,
           .epsilon = part.epsilon});
    }
  });
}

Tensor4 qkv_norm_rope_forward_cpu(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                  std::int64_t kv_heads, const OptionalTensor& q_gain,
                                  const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                  at::ArrayRef<double> epsilon) {
  const auto rows = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const QkvLayout layout(qkv, heads, kv_heads,
                         qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, epsilon));
  std::array<Tensor, 3> results;
  for (std::size_t p = 0; p < 3; ++p) {
    results[p] = at::empty({qkv.size(0), layout.positions, layout.parts[p].count, layout.width},
                           qkv.options());
  }
  const auto rstd = at::empty({layout.count, layout.all}, qkv.options().dtype(at::kDouble));
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_forward", [&] {
    norm_rope_rows<scalar_t>(rows, angles, layout, results, rstd);
  });
  return {results[0], results[1], results[2], rstd};
}

/// The inputs of the backward pass; all tensors are contiguous.
struct QkvBackward {
  std::array<Tensor, 3> upstream;  // dq, dk and dv
  Tensor rows;                     // [B * T, all * width]
  Tensor cos_sin;                  // [T, width]
  Tensor rstd;                     // [B * T, all], double
};

/// \param dx    of the shape of the products; written
/// \param sums  [blocks of rows, 3 * width], double: gradients of the gains are added
template <typename scalar_t>
void norm_rope_rows_backward(const QkvBackward& in, const QkvLayout& layout, const Tensor& dx,
                             const Tensor& sums) {
  const auto width = layout.width;
  const auto* const from = const_data<scalar_t>(in.rows, layout.count * layout.all * width);
  const auto* const angle_rows =
      const_data<OpMathType<KernelType<scalar_t>>>(in.cos_sin, layout.positions * width);
  const auto* const scales = const_data<double>(in.rstd, layout.count * layout.all);
  auto* const to = mutable_data<scalar_t>(dx);
  auto* const dgain = mutable_data<double>(sums);
  const auto gains = gains_of<scalar_t>(layout.parts, width);
  std::array<const KernelType<scalar_t>*, 3> dy = {};
  for (std::size_t p = 0; p < 3; ++p) {
    dy[p] = const_data<scalar_t>(in.upstream[p], layout.count * layout.parts[p].count * width);
  }
  const auto backward_part = [&](std::int64_t row, std::int64_t block, std::size_t p,
                                 double* scratch) {
    const auto& part = layout.parts[p];
    const auto at = (row * layout.all + part.first) * width;
    kernels::cpu::norm_rope_backward<KernelType<scalar_t>>(
        {.dy = dy[p] + row * part.count * width,
         .x = from + at,
         .gain = gains[p],
         .cos_sin = part.is_rotated ? angle_rows + row % layout.positions * width : nullptr,
         .rstd = scales + row * layout.all + part.first,
         .dx = to + at,
         .dgain = dgain + (block * 3 + static_cast<std::int64_t>(p)) * width,
         .scratch = scratch,
         .count = part.count,
         .width = width});
  };
  const auto each_block = [&](std::int64_t block, std::int64_t begin, std::int64_t end) {
    std::vector<double> scratch(static_cast<std::size_t>(width));
    for (auto row = begin; row < end; ++row) {
      for (std::size_t p = 0; p < 3; ++p) backward_part(row, block, p, scratch.data());
    }
  };
  cpu::for_each_block(layout.count, kernels::kBlockRows, each_block);
}

Tensor4 qkv_norm_rope_backward_cpu(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                   const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& q_gain,
                                   const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                   const Tensor& rstd) {
  const QkvBackward in = {.upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()},
                          .rows = qkv.contiguous(),
                          .cos_sin = cos_sin.contiguous(),
                          .rstd = rstd};
  const QkvLayout layout(qkv, heads, kv_heads,
                         qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, {0, 0, 0}));
  const auto width = layout.width;
  auto dx = empty_contiguous_like(qkv);
  const auto blocks = kernels::blocks_of(layout.count, kernels::kBlockRows);
  const auto sums = at::zeros({blocks, 3 * width}, qkv.options().dtype(at::kDouble));
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_backward",
                                 [&] { norm_rope_rows_backward<scalar_t>(in, layout, dx, sums); });
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
