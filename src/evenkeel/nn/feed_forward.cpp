// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/feed_forward.h"

#include <ATen/ATen.h>

#include "evenkeel/ops/reference.h"
#include "evenkeel/ops/swiglu.h"

namespace evenkeel::nn {

at::Tensor FeedForward::operator()(const at::Tensor& x, Mode mode) const {
  const auto products = up_gate_scale(at::linear(x, up_gate(mode)));
  auto hidden = fused ? ops::swiglu(products) : ops::reference::swiglu(products);
  if (hidden_norm) hidden = (*hidden_norm)(hidden, mode);
  return at::linear(hidden, down(mode));
}

}  // namespace evenkeel::nn
