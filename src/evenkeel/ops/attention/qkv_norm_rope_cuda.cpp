// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <array>
#include <tuple>

#include "evenkeel/kernels/cuda/qkv_norm_rope.cuh"
#include "evenkeel/kernels/reduction_order.h"
#include "evenkeel/ops/attention/qkv_norm_rope_common.h"
#include "evenkeel/ops/common/cuda_adapter.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cuda::const_data;
using cuda::KernelType;
using cuda::mutable_data;
using kernels::cuda::Heads;
using kernels::cuda::OpMathType;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

/// q, k or v of all tokens, as arguments of the CUDA kernels. All tensors are contiguous.
template <typename scalar_t>
Heads<KernelType<scalar_t>> heads_part(const QkvPart& part, const Tensor& qkv,
                                       const Tensor& cos_sin, const Tensor& rstd,
                                       std::int64_t width) {
  using Angle = OpMathType<KernelType<scalar_t>>;
  return {.x = const_data<scalar_t>(qkv) + part.first * width,
          .gain = part.gain ? const_data<Angle>(*part.gain) : nullptr,
          .cos_sin = part.is_rotated ? const_data<Angle>(cos_sin) : nullptr,
          .rstd = mutable_data<double>(rstd) + part.first,
          .tokens = qkv.size(0) * qkv.size(1),
          .positions = qkv.size(1),
          .stride = qkv.size(2),
          .rstd_stride = rstd.size(1),
          .count = part.count,
          .width = width};
}

Tensor4 qkv_norm_rope_forward_cuda(const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& q_gain,
                                   const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                   at::ArrayRef<double> epsilon) {
  const c10::cuda::CUDAGuard on_device_of_qkv(qkv.device());
  const auto rows = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, epsilon);
  const auto width = head_width(qkv, heads, kv_heads);
  const auto rstd = at::empty({qkv.size(0) * qkv.size(1), heads + 2 * kv_heads},
                              qkv.options().dtype(at::kDouble));
  std::array<Tensor, 3> results;
  for (std::size_t p = 0; p < 3; ++p) {
    results[p] = at::empty({qkv.size(0), qkv.size(1), parts[p].count, width}, qkv.options());
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_forward", [&] {
      cuda::check(kernels::cuda::norm_rope(
          heads_part<scalar_t>(parts[p], rows, angles, rstd, width),
          mutable_data<scalar_t>(results[p]), parts[p].epsilon, cuda::stream()));
    });
  }
  return {results[0], results[1], results[2], rstd};
}

Tensor4 qkv_norm_rope_backward_cuda(const Tensor& dq, const Tensor& dk, const Tensor& dv,
                                    const Tensor& qkv, const Tensor& cos_sin, std::int64_t heads,
                                    std::int64_t kv_heads, const OptionalTensor& q_gain,
                                    const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                    const Tensor& rstd) {
  const c10::cuda::CUDAGuard on_device_of_qkv(qkv.device());
  const std::array<Tensor, 3> upstream = {dq.contiguous(), dk.contiguous(), dv.contiguous()};
  const auto rows = qkv.contiguous();
  const auto angles = cos_sin.contiguous();
  const auto parts = qkv_parts(heads, kv_heads, q_gain, k_gain, v_gain, {0, 0, 0});
  const auto width = head_width(qkv, heads, kv_heads);
  auto dx = empty_contiguous_like(qkv);
  const auto blocks = kernels::blocks_of(qkv.size(0) * qkv.size(1), kernels::kBlockRows);
  const auto sums = at::zeros({blocks, 3 * width}, qkv.options().dtype(at::kDouble));
  for (std::size_t p = 0; p < 3; ++p) {
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, qkv.scalar_type(), "qkv_norm_rope_backward", [&] {
      cuda::check(kernels::cuda::norm_rope_backward<KernelType<scalar_t>>(
          heads_part<scalar_t>(parts[p], rows, angles, rstd, width),
          {.dy = const_data<scalar_t>(upstream[p]),
           .dx = mutable_data<scalar_t>(dx) + parts[p].first * width,
           .dgain = mutable_data<double>(sums) + static_cast<std::int64_t>(p) * width,
           .dgain_stride = 3 * width},
          cuda::stream()));
    });
  }
  const auto total = cuda::tree_sum(sums);
  const auto gradient = [&](std::int64_t p, const OptionalTensor& gain) {
    return vector_gradient(total.narrow(0, p * width, width), gain);
  };
  return {dx, gradient(0, q_gain), gradient(1, k_gain), gradient(2, v_gain)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CUDA, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_cuda);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_cuda);
}

}  // namespace evenkeel::ops
