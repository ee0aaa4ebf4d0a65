// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

// Shapes without data: what torch.compile, FakeTensor and memory estimates run instead of kernels.
// Sizes stay symbolic, so that one trace serves every batch.
namespace evenkeel::ops {

namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> rms_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                                                 double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_row_statistic(x)};
}

std::tuple<Tensor, Tensor> rms_norm_backward_meta(const Tensor& /*dy*/,
                                                  const OptionalTensor& /*skip*/, const Tensor& x,
                                                  const OptionalTensor& gain,
                                                  const Tensor& /*rstd*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("rms_norm_forward", rms_norm_forward_meta);
  m.impl("rms_norm_backward", rms_norm_backward_meta);
}

}  // namespace evenkeel::ops
