// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

Tensor3 layer_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                                const OptionalTensor& /*bias*/, double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_row_statistic(x), empty_row_statistic(x)};
}

Tensor3 layer_norm_backward_meta(const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain,
                                 const OptionalTensor& bias, const Tensor& /*mean*/,
                                 const Tensor& /*rstd*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("layer_norm_forward", layer_norm_forward_meta);
  m.impl("layer_norm_backward", layer_norm_backward_meta);
}

}  // namespace evenkeel::ops
