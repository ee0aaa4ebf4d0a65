// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor scale_rows_forward_meta(const Tensor& x, const Tensor& /*weights*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor> scale_rows_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                    const Tensor& weights) {
  return {empty_contiguous_like(x), empty_contiguous_like(weights)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("scale_rows_forward", scale_rows_forward_meta);
  m.impl("scale_rows_backward", scale_rows_backward_meta);
}

}  // namespace evenkeel::ops
