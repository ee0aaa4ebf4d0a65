// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor affine_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                           const OptionalTensor& /*bias*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                        const OptionalTensor& gain,
                                                        const OptionalTensor& bias) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("affine_forward", affine_forward_meta);
  m.impl("affine_backward", affine_backward_meta);
}

}  // namespace evenkeel::ops
