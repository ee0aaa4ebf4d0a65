// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor forward(const Tensor& x, const Tensor& /*alpha*/, const OptionalTensor& /*shift*/,
               const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/, bool /*erf*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const OptionalTensor& /*shift*/,
    const OptionalTensor& gain, const OptionalTensor& bias, bool /*erf*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(alpha), empty_contiguous_like(alpha), empty_vector_gradient(gain, x),
          empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("bounded_forward", forward);
  m.impl("bounded_backward", backward);
}

}  // namespace evenkeel::ops
