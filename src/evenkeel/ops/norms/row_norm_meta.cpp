// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor row_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                             const OptionalTensor& /*bias*/, std::int64_t /*groups*/,
                             bool /*centred*/, double /*partial*/, bool /*length*/,
                             double /*epsilon*/, std::int64_t /*epsilon_at*/, bool /*absmax8*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor> row_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    std::int64_t /*groups*/, bool /*centred*/, double /*partial*/, bool /*length*/,
    double /*epsilon*/, std::int64_t /*epsilon_at*/, bool /*absmax8*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("row_norm_forward", row_norm_forward_meta);
  m.impl("row_norm_backward", row_norm_backward_meta);
}

}  // namespace evenkeel::ops
