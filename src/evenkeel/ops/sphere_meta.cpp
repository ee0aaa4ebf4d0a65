// SPDX-License-Identifier: Apache-2.0
#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/rows.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor sphere(const Tensor& start, const Tensor& /*towards*/, const Tensor& /*step*/) {
  return like(start);
}

std::tuple<Tensor, Tensor, Tensor> sphere_backward(const Tensor& /*dy*/, const Tensor& start,
                                                   const Tensor& /*towards*/, const Tensor& step) {
  return {like(start), like(start), like(step)};
}

Tensor geodesic(const Tensor& x, const Tensor& /*g*/, const Tensor& /*scale*/,
                const Tensor& /*bias*/, double /*decay*/) {
  return like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> geodesic_backward(const Tensor& /*dy*/, const Tensor& x,
                                                             const Tensor& /*g*/,
                                                             const Tensor& scale,
                                                             const Tensor& bias, double /*decay*/) {
  return {like(x), like(x), like(scale), like(bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sphere_step_forward", sphere);
  m.impl("sphere_step_backward", sphere_backward);
  m.impl("geodesic_step_forward", geodesic);
  m.impl("geodesic_step_backward", geodesic_backward);
}

}  // namespace evenkeel::ops
