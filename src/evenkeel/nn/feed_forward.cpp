// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/feed_forward.h"

#include <ATen/ATen.h>

namespace evenkeel::nn {

at::Tensor FeedForward::operator()(const at::Tensor& x) const {
  auto products = at::linear(x, up_gate);
  if (up_gate_scale) products = products * *up_gate_scale;
  const auto inner = down.size(1);
  const auto up = products.narrow(-1, 0, inner);
  const auto gate = products.narrow(-1, inner, inner);
  auto hidden = at::silu(gate) * up;
  if (hidden_norm) hidden = (*hidden_norm)(hidden);
  return at::linear(hidden, down);
}

}  // namespace evenkeel::nn
