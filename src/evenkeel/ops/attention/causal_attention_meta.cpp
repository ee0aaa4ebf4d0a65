// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/attention/causal_attention.h"
#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> causal_attention_forward_meta(
    const Tensor& q, const Tensor& /*k*/, const Tensor& /*v*/, double /*scale*/,
    std::optional<double> /*softcap*/, const std::optional<Tensor>& /*document_starts*/) {
  return {empty_contiguous_like(q),
          at::empty_symint({q.sym_size(0), q.sym_size(2), q.sym_size(1)},
                           q.options().dtype(opmath_dtype(q.scalar_type())))};
}

std::tuple<Tensor, Tensor, Tensor> causal_attention_backward_meta(
    const Tensor& /*dy*/, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& /*y*/,
    const Tensor& /*lse*/, double /*scale*/, std::optional<double> /*softcap*/,
    const std::optional<Tensor>& /*document_starts*/) {
  return {empty_contiguous_like(q), empty_contiguous_like(k), empty_contiguous_like(v)};
}

Tensor largest_scores_meta(const Tensor& q, const Tensor& k, double /*scale*/,
                           const std::optional<Tensor>& document_starts) {
  check_attention(q, k, k, document_starts);
  return at::empty_symint({q.sym_size(2)}, q.options().dtype(at::kDouble));
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("causal_attention_forward", causal_attention_forward_meta);
  m.impl("causal_attention_backward", causal_attention_backward_meta);
  m.impl("largest_scores", largest_scores_meta);
}

}  // namespace evenkeel::ops
