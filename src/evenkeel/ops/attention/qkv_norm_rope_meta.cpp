// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using Tensor4 = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Tensor4 qkv_norm_rope_forward_meta(const Tensor& qkv, const Tensor& /*cos_sin*/, std::int64_t heads,
                                   std::int64_t kv_heads, const OptionalTensor& /*q_gain*/,
                                   const OptionalTensor& /*k_gain*/,
                                   const OptionalTensor& /*v_gain*/,
                                   at::ArrayRef<double> /*epsilon*/) {
  const auto batch = qkv.sym_size(0), positions = qkv.sym_size(1);
  const auto all = heads + 2 * kv_heads;
  const auto width = qkv.sym_size(2) / all;
  const auto part = [&](std::int64_t count) {
    return at::empty_symint({batch, positions, count, width}, qkv.options());
  };
  return {part(heads), part(kv_heads), part(kv_heads),
          at::empty_symint({batch * positions, all}, qkv.options().dtype(at::kDouble))};
}

Tensor4 qkv_norm_rope_backward_meta(const Tensor& /*dq*/, const Tensor& /*dk*/,
                                    const Tensor& /*dv*/, const Tensor& qkv,
                                    const Tensor& /*cos_sin*/, std::int64_t /*heads*/,
                                    std::int64_t /*kv_heads*/, const OptionalTensor& q_gain,
                                    const OptionalTensor& k_gain, const OptionalTensor& v_gain,
                                    const Tensor& /*rstd*/) {
  return {empty_contiguous_like(qkv), empty_vector_gradient(q_gain, qkv),
          empty_vector_gradient(k_gain, qkv), empty_vector_gradient(v_gain, qkv)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("qkv_norm_rope_forward", qkv_norm_rope_forward_meta);
  m.impl("qkv_norm_rope_backward", qkv_norm_rope_backward_meta);
}

}  // namespace evenkeel::ops
