// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor bounded_forward_meta(const Tensor& x, const Tensor& /*alpha*/,
                            const OptionalTensor& /*shift*/, const OptionalTensor& /*gain*/,
                            const OptionalTensor& /*bias*/, bool /*erf*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> bounded_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const OptionalTensor& /*shift*/,
    const OptionalTensor& gain, const OptionalTensor& bias, bool /*erf*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(alpha), empty_contiguous_like(alpha),
          empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("bounded_forward", bounded_forward_meta);
  m.impl("bounded_backward", bounded_backward_meta);
}

}  // namespace evenkeel::ops
