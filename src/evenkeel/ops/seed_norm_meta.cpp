// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/rows.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor forward(const Tensor& x, const Tensor& /*alpha*/, const Tensor& /*beta*/,
               const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/, double /*epsilon*/) {
  return like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> backward(const Tensor& /*dy*/, const Tensor& x,
                                                            const Tensor& alpha, const Tensor& beta,
                                                            const OptionalTensor& gain,
                                                            const OptionalTensor& bias,
                                                            double /*epsilon*/) {
  return {like(x), vector_gradient_shape(alpha, x), vector_gradient_shape(beta, x),
          vector_gradient_shape(gain, x), vector_gradient_shape(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("seed_norm_forward", forward);
  m.impl("seed_norm_backward", backward);
}

}  // namespace evenkeel::ops
