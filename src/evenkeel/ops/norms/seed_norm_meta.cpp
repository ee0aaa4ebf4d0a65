// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor seed_norm_forward_meta(const Tensor& x, const Tensor& /*alpha*/, const Tensor& /*beta*/,
                              const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/,
                              double /*epsilon*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> seed_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const Tensor& beta,
    const OptionalTensor& gain, const OptionalTensor& bias, double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(alpha, x), empty_vector_gradient(beta, x),
          empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("seed_norm_forward", seed_norm_forward_meta);
  m.impl("seed_norm_backward", seed_norm_backward_meta);
}

}  // namespace evenkeel::ops
