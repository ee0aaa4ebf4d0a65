// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/ops/attention/qkv_norm_rope_common.h"
#include "evenkeel/ops/common/cuda_adapter.h"
#include "evenkeel/ops/common/cuda_row_gradient.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::Heads;
using kernels::cuda::OpMathType;
using kernels::cuda::QkvRows;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// q, k or v, without its values. All tensors are contiguous.
template <typename scalar_t>
Heads<KernelType<scalar_t>> heads_of(const QkvPart& part, const Tensor& cos_sin) {
  using Angle = OpMathType<KernelType<scalar_t>>;
  return {.gain = part.gain ? const_data<Angle>(*part.gain) : nullptr,
          .cos_sin = part.is_rotated ? const_data<Angle>(cos_sin) : nullptr,
          .y = nullptr,
          .dy = nullptr,
          .dgain = nullptr,
          .partials = 0,
          .first = part.first,
          .count = part.count,
          .epsilon = part.epsilon};
}

/// All tokens, without q, k and v.
template <typename scalar_t>
QkvRows<KernelType<scalar_t>> rows_of(const Tensor& qkv, const Tensor& rstd, std::int64_t width) {
  return {.qkv = const_data<scalar_t>(qkv),
          .dqkv = nullptr,
          .rstd = mutable_data<double>(rstd),
          .tokens = qkv.size(0) * qkv.size(1),
          .positions = qkv.size(1),
          .heads = rstd.size(1),
          .width = width,
          .part = {}};
}

Tensor4 qkv_norm_rope_forward_cuda(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& q_gain,
                                   const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                   at::ArrayRef<double> epsilon) {
  const c10::cuda::CUDAGuard on_device_of_qkv(qkv.device());
  const auto contiguous = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, epsilon);
  const auto width = head_width(qkv, heads, kv_heads);
  const auto rstd = at::empty({qkv.size(0) * qkv.size(1), heads + 2 * kv_heads},
                              qkv.options().dtype(at::kDouble));
  std::array<Tensor, 3> results;
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_forward", [&] {
    auto rows = rows_of<scalar_t>(contiguous, rstd, width);
    for (std::size_t p = 0; p < 3; ++p) {
      results[p] = at::empty({qkv.size(0), qkv.size(1), parts[p].count, width}, qkv.options());
      rows.part[p] = heads_of<scalar_t>(parts[p], angles);
      rows.part[p].y = mutable_data<scalar_t>(results[p]);
    }
    cuda::check(kernels::cuda::qkv_norm_rope(rows, cuda::stream()));
  });
  return {results[0], results[1], results[2], rstd};
}

Tensor4 qkv_norm_rope_backward_cuda(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                    const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                    std::int64_t kv_heads, const OptionalTensor& q_gain,
                                    const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                    const Tensor& rstd) {
  const c10::cuda::CUDAGuard on_device_of_qkv(qkv.device());
  const std::array<Tensor, 3> upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()};
  const auto contiguous = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, {0, 0, 0});
  const auto width = head_width(qkv, heads, kv_heads);
  const auto options = qkv.options().dtype(opmath_dtype(qkv.scalar_type()));
  auto dx = empty_contiguous_like(qkv);
  std::array<Tensor, 3> partials;
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_backward", [&] {
    using T = KernelType<scalar_t>;
    auto rows = rows_of<scalar_t>(contiguous, rstd, width);
    rows.dqkv = mutable_data<scalar_t>(dx);
    for (std::size_t p = 0; p < 3; ++p) {
      auto& part = rows.part[p] = heads_of<scalar_t>(parts[p], angles);
      part.dy = const_data<scalar_t>(upstream[p]);
      part.partials = kernels::cuda::head_partials<T>(rows.tokens, part.count, rows.heads, width);
      if (!parts[p].gain) continue;
      partials[p] = at::empty({part.partials, width}, options);
      part.dgain = mutable_data<OpMathType<T>>(partials[p]);
    }
    cuda::check(kernels::cuda::qkv_norm_rope_backward(rows, cuda::stream()));
  });
  return {dx, cuda::vector_gradient_from(partials[0], q_gain, qkv),
          cuda::vector_gradient_from(partials[1], k_gain, qkv),
          cuda::vector_gradient_from(partials[2], v_gain, qkv)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_cuda);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_cuda);
}

}  // namespace evenkeel::ops
