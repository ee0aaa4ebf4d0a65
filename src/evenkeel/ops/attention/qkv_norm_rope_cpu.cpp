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
#include "evenkeel/ops/common/rows_view.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;
using kernels::cpu::OpMathType;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;
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

using Tensors3 = std::array<Tensor, 3>;

/// The sizes of q, k and v.
struct QkvLayout {
  /// \param q  [B, T, heads * D]
  QkvLayout(const Tensor& q, std::array<QkvPart, 3> of_parts)
      : parts(std::move(of_parts)),
        width(q.size(2) / parts[0].count),
        all(parts[0].count + parts[1].count + parts[2].count),
        positions(q.size(1)),
        count(q.size(0) * q.size(1)) {}
  bool has_norm() const { return parts[0].gain || parts[1].gain || parts[2].gain; }
  /// Rows of a task of the backward pass: those of a sum over rows, or without norms, as forward.
  std::int64_t backward_rows() const { return has_norm() ? kernels::kBlockRows : cpu::kTaskRows; }
  std::array<QkvPart, 3> parts;  // q, k and v
  std::int64_t width;            // of a head
  std::int64_t all;              // heads of a row: of q, k and v
  std::int64_t positions;        // T
  std::int64_t count;            // rows: B * T
};

std::array<RowsView, 3> views_of(const Tensors3& parts) {
  return {rows_view(parts[0]), rows_view(parts[1]), rows_view(parts[2])};
}

/// \param sources  q, k and v, of [B, T, columns]
/// \param cos_sin  [T, width], contiguous
/// \param results  q, k and v; written
/// \param rstd     [B * T, all], double; written
template <typename scalar_t>
void norm_rope_rows(const std::array<RowsView, 3>& sources, const Tensor& cos_sin,
                    const QkvLayout& layout, const Tensors3& results, const Tensor& rstd) {
  const auto* const angle_rows =
      const_data<OpMathType<KernelType<scalar_t>>>(cos_sin, layout.positions * layout.width);
  auto* const scales = mutable_data<double>(rstd);
  const auto gains = gains_of<scalar_t>(layout.parts, layout.width);
  const std::array from = {const_data<scalar_t>(sources[0].tensor),
                           const_data<scalar_t>(sources[1].tensor),
                           const_data<scalar_t>(sources[2].tensor)};
  const std::array to = {mutable_data<scalar_t>(results[0]), mutable_data<scalar_t>(results[1]),
                         mutable_data<scalar_t>(results[2])};
  cpu::for_each_row(layout.count, [&](std::int64_t row) {
    for (std::size_t p = 0; p < 3; ++p) {
      const auto& part = layout.parts[p];
      kernels::cpu::norm_rope<KernelType<scalar_t>>(
          {.x = from[p] + sources[p].offset(row),
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

/// \param columns  q, k and v, of [B, T, columns]
Tensor4 forward_of_columns(const Tensors3& columns, const Tensor& cos_sin,
                           const QkvLayout& layout) {
  const auto angles = cos_sin.contiguous();
  const auto& q = columns[0];
  Tensors3 results;
  for (std::size_t p = 0; p < 3; ++p) {
    results[p] =
        at::empty({q.size(0), layout.positions, layout.parts[p].count, layout.width}, q.options());
  }
  const auto rstd = at::empty({layout.count, layout.all}, q.options().dtype(at::kDouble));
  const auto sources = views_of(columns);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, q.scalar_type(), "qkv_norm_rope_forward", [&] {
    norm_rope_rows<scalar_t>(sources, angles, layout, results, rstd);
  });
  return {results[0], results[1], results[2], rstd};
}

Tensor4 qkv_norm_rope_forward_cpu(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                  std::int64_t kv_heads, const OptionalTensor& q_gain,
                                  const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                  at::ArrayRef<double> epsilon) {
  const auto columns = qkv_columns(qkv.contiguous(), heads, kv_heads);
  return forward_of_columns(
      columns, cos_sin,
      QkvLayout(columns[0], qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, epsilon)));
}

/// The inputs of the backward pass.
struct QkvBackward {
  Tensors3 upstream;                // dq, dk and dv, contiguous
  std::array<RowsView, 3> sources;  // q, k and v, of [B, T, columns]
  Tensor cos_sin;                   // [T, width], contiguous
  Tensor rstd;                      // [B * T, all], double
};

/// \param dx    the gradients of the sources; written
/// \param sums  [blocks of rows, 3 * width], double: gradients of the gains are added; no blocks
///              without norms
template <typename scalar_t>
void norm_rope_rows_backward(const QkvBackward& in, const QkvLayout& layout,
                             const std::array<RowsView, 3>& dx, const Tensor& sums) {
  const auto width = layout.width;
  const auto* const angle_rows =
      const_data<OpMathType<KernelType<scalar_t>>>(in.cos_sin, layout.positions * width);
  const auto* const scales = const_data<double>(in.rstd, layout.count * layout.all);
  auto* const dgain = mutable_data<double>(sums);
  const auto gains = gains_of<scalar_t>(layout.parts, width);
  std::array<const KernelType<scalar_t>*, 3> dy = {}, from = {};
  std::array<KernelType<scalar_t>*, 3> to = {};
  for (std::size_t p = 0; p < 3; ++p) {
    from[p] = const_data<scalar_t>(in.sources[p].tensor);
    to[p] = mutable_data<scalar_t>(dx[p].tensor);
    dy[p] = const_data<scalar_t>(in.upstream[p], layout.count * layout.parts[p].count * width);
  }
  const auto backward_part = [&](std::int64_t row, std::int64_t block, std::size_t p,
                                 double* scratch) {
    const auto& part = layout.parts[p];
    kernels::cpu::norm_rope_backward<KernelType<scalar_t>>(
        {.dy = dy[p] + row * part.count * width,
         .x = from[p] + in.sources[p].offset(row),
         .gain = gains[p],
         .cos_sin = part.is_rotated ? angle_rows + row % layout.positions * width : nullptr,
         .rstd = scales + row * layout.all + part.first,
         .dx = to[p] + dx[p].offset(row),
         .dgain = part.gain ? dgain + (block * 3 + static_cast<std::int64_t>(p)) * width : nullptr,
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
  cpu::for_each_block(layout.count, layout.backward_rows(), each_block);
}

/// The gradients of the gains of q, k and v.
/// \param dx  the gradients of the columns of q, k and v; written
Tensors3 backward_of_columns(const QkvBackward& in, const QkvLayout& layout, const Tensors3& dx) {
  const auto width = layout.width;
  const auto blocks = layout.has_norm() ? kernels::blocks_of(layout.count, kernels::kBlockRows) : 0;
  const auto sums = at::zeros({blocks, 3 * width}, in.rstd.options().dtype(at::kDouble));
  const auto views = views_of(dx);
  const auto dtype = dx[0].scalar_type();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, dtype, "qkv_norm_rope_backward", [&] {
    norm_rope_rows_backward<scalar_t>(in, layout, views, sums);
  });
  const auto total = cpu::tree_sum(sums);
  const auto gradient = [&](std::size_t p) {
    return vector_gradient(total.narrow(0, static_cast<std::int64_t>(p) * width, width),
                           layout.parts[p].gain);
  };
  return {gradient(0), gradient(1), gradient(2)};
}

Tensor4 qkv_norm_rope_backward_cpu(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                   const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& q_gain,
                                   const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                   const Tensor& rstd) {
  const auto columns = qkv_columns(qkv.contiguous(), heads, kv_heads);
  const QkvBackward in = {.upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()},
                          .sources = views_of(columns),
                          .cos_sin = cos_sin.contiguous(),
                          .rstd = rstd};
  const QkvLayout layout(columns[0], qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, {0, 0, 0}));
  auto dx = empty_contiguous_like(qkv);
  const auto gains = backward_of_columns(in, layout, qkv_columns(dx, heads, kv_heads));
  return {dx, gains[0], gains[1], gains[2]};
}

/// The layout of q, k and v without norms.
/// \param q, k, v  [B, T, heads * D] each
QkvLayout layout_without_norms(const Tensors3& columns, const Tensor& cos_sin) {
  TORCH_CHECK(cos_sin.dim() == 3 && cos_sin.size(2) > 0,
              "[qkv_rope] cos_sin must be [T, 2, D / 2], but is ", cos_sin.sizes());
  const auto width = 2 * cos_sin.size(2);
  for (const auto& each : columns) {
    TORCH_CHECK(each.dim() == 3 && each.size(2) > 0 && each.size(2) % width == 0, "[qkv_rope] ",
                each.sizes(), " must be [B, T, heads * ", width, "]");
  }
  const auto& [q, k, v] = columns;
  TORCH_CHECK(k.sizes() == v.sizes() && k.sizes().slice(0, 2) == q.sizes().slice(0, 2),
              "[qkv_rope] q, k and v must fit, but are ", q.sizes(), ", ", k.sizes(), " and ",
              v.sizes());
  return {q, qkv_parts(q.size(2) / width, k.size(2) / width, std::nullopt, std::nullopt,
                       std::nullopt, {0, 0, 0})};
}

Tensor3 qkv_rope_forward_cpu(const Tensor& q, const Tensor& k, const Tensor& v,
                             const Tensor& cos_sin) {
  const Tensors3 columns = {q, k, v};
  const auto [rotated_q, rotated_k, copied_v, rstd] =
      forward_of_columns(columns, cos_sin, layout_without_norms(columns, cos_sin));
  return {rotated_q, rotated_k, copied_v};
}

Tensor3 qkv_rope_backward_cpu(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                              const Tensor& cos_sin) {
  const Tensors3 upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()};
  Tensors3 dx;
  for (std::size_t p = 0; p < 3; ++p) dx[p] = at::empty_like(upstream[p].flatten(2));
  const auto layout = layout_without_norms(dx, cos_sin);
  // Without norms the kernel does not read what was rotated, nor its statistics.
  const auto rstd = at::empty({layout.count, layout.all}, dq.options().dtype(at::kDouble));
  backward_of_columns({upstream, views_of(dx), cos_sin.contiguous(), rstd}, layout, dx);
  return {dx[0], dx[1], dx[2]};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_cpu);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_cpu);
  m.impl("qkv_rope_forward", qkv_rope_forward_cpu);
  m.impl("qkv_rope_backward", qkv_rope_backward_cpu);
}

}  // namespace evenkeel::ops
