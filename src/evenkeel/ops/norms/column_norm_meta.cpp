// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> column_norm_forward_meta(
    const Tensor& x, const OptionalTensor& /*gain*/, const OptionalTensor& /*bias*/,
    double /*epsilon*/, std::int64_t /*epsilon_at*/) {
  const auto of_columns = [&] {
    return at::empty_symint({x.sym_size(0), x.sym_size(2)}, x.options().dtype(at::kDouble));
  };
  return {empty_contiguous_like(x), of_columns(), of_columns(), of_columns(), of_columns()};
}

std::tuple<Tensor, Tensor, Tensor> column_norm_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
    const Tensor& /*mean*/, const Tensor& /*rho*/, const Tensor& /*slope*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("column_norm_forward", column_norm_forward_meta);
  m.impl("column_norm_backward", column_norm_backward_meta);
}

}  // namespace evenkeel::ops
