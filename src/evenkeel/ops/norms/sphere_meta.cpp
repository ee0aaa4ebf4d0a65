// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor sphere_step_forward_meta(const Tensor& start, const Tensor& /*towards*/,
                                const Tensor& /*step*/) {
  return empty_contiguous_like(start);
}

std::tuple<Tensor, Tensor, Tensor> sphere_step_backward_meta(const Tensor& /*dy*/,
                                                             const Tensor& start,
                                                             const Tensor& /*towards*/,
                                                             const Tensor& step) {
  return {empty_contiguous_like(start), empty_contiguous_like(start), empty_contiguous_like(step)};
}

Tensor geodesic_step_forward_meta(const Tensor& x, const Tensor& /*g*/, const Tensor& /*scale*/,
                                  const Tensor& /*bias*/, double /*decay*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_step_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& /*g*/, const Tensor& scale,
    const Tensor& bias, double /*decay*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(x), empty_contiguous_like(scale),
          empty_contiguous_like(bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sphere_step_forward", sphere_step_forward_meta);
  m.impl("sphere_step_backward", sphere_step_backward_meta);
  m.impl("geodesic_step_forward", geodesic_step_forward_meta);
  m.impl("geodesic_step_backward", geodesic_step_backward_meta);
}

}  // namespace evenkeel::ops
