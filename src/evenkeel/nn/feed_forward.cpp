// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/feed_forward.h"

#include <ATen/ATen.h>

#include "evenkeel/ops/reference.h"
#include "evenkeel/ops/swiglu.h"

namespace evenkeel::nn {

at::Tensor FeedForward::operator()(const at::Tensor& x, Mode mode) const {
  const auto products = up_gate_scale(at::linear(x, up_gate(mode)));
  auto hidden = fused ? ops::swiglu(products) : ops::reference::swiglu(products);
  if (hidden_norm) {
    hidden = parts == 1 ? (*hidden_norm)(hidden, mode)
                        : (*hidden_norm)(hidden.unflatten(-1, {parts, -1}), mode).flatten(-2);
  }
  return at::linear(hidden, down(mode));
}

}  // namespace evenkeel::nn
