// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor sphere(const Tensor& start, const Tensor& /*towards*/, const Tensor& /*step*/) {
  return empty_contiguous_like(start);
}

std::tuple<Tensor, Tensor, Tensor> sphere_backward(const Tensor& /*dy*/, const Tensor& start,
                                                   const Tensor& /*towards*/, const Tensor& step) {
  return {empty_contiguous_like(start), empty_contiguous_like(start), empty_contiguous_like(step)};
}

Tensor geodesic(const Tensor& x, const Tensor& /*g*/, const Tensor& /*scale*/,
                const Tensor& /*bias*/, double /*decay*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_backward(const Tensor& /*dy*/, const Tensor& x,
                                                             const Tensor& /*g*/,
                                                             const Tensor& scale,
                                                             const Tensor& bias, double /*decay*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(x), empty_contiguous_like(scale), empty_contiguous_like(bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sphere_step_forward", sphere);
  m.impl("sphere_step_backward", sphere_backward);
  m.impl("geodesic_step_forward", geodesic);
  m.impl("geodesic_step_backward", geodesic_backward);
}

}  // namespace evenkeel::ops
