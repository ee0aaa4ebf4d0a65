// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor> add_rms_norm_forward_meta(const Tensor& residual,
                                                             const Tensor& /*branch*/,
                                                             const OptionalTensor& /*gain*/,
                                                             double /*epsilon*/) {
  return {empty_contiguous_like(residual), empty_contiguous_like(residual),
          empty_row_statistic(residual)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("add_rms_norm_forward", add_rms_norm_forward_meta);
}

}  // namespace evenkeel::ops
