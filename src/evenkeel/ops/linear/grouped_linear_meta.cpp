// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor grouped_linear_forward_meta(const Tensor& x, const Tensor& weight,
                                   const Tensor& /*offsets*/) {
  return at::empty_symint({x.sym_size(0), weight.sym_size(1)}, x.options());
}

std::tuple<Tensor, Tensor> grouped_linear_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                        const Tensor& weight,
                                                        const Tensor& /*offsets*/, bool for_x,
                                                        bool for_weight) {
  const auto none = [](const Tensor& like) { return at::empty({0}, like.options()); };
  return {for_x ? empty_contiguous_like(x) : none(x),
          for_weight ? empty_contiguous_like(weight) : none(weight)};
}

void add_grouped_weight_gradient_meta(const Tensor& /*sum*/, const Tensor& /*dy*/,
                                      const Tensor& /*x*/, const Tensor& /*offsets*/,
                                      bool /*is_first*/) {}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("grouped_linear_forward", grouped_linear_forward_meta);
  m.impl("grouped_linear_backward", grouped_linear_backward_meta);
  m.impl("add_grouped_weight_gradient_", add_grouped_weight_gradient_meta);
}

}  // namespace evenkeel::ops
