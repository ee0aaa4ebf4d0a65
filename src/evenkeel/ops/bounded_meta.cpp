// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/rows.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor forward(const Tensor& x, const Tensor& /*alpha*/, const OptionalTensor& /*shift*/,
               const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/, bool /*erf*/) {
  return like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const OptionalTensor& /*shift*/,
    const OptionalTensor& gain, const OptionalTensor& bias, bool /*erf*/) {
  return {like(x), like(alpha), like(alpha), vector_gradient_shape(gain, x),
          vector_gradient_shape(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("bounded_forward", forward);
  m.impl("bounded_backward", backward);
}

}  // namespace evenkeel::ops
