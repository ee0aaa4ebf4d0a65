// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/feed_forward.h"

#include <ATen/ATen.h>

namespace evenkeel::nn {

at::Tensor FeedForward::operator()(const at::Tensor& x, Mode mode) const {
  const auto products = up_gate_scale(at::linear(x, up_gate(mode)));
  const auto inner = products.size(-1) / 2;
  const auto up = products.narrow(-1, 0, inner);
  const auto gate = products.narrow(-1, inner, inner);
  auto hidden = at::silu(gate) * up;
  if (hidden_norm) hidden = (*hidden_norm)(hidden, mode);
  return at::linear(hidden, down(mode));
}

}  // namespace evenkeel::nn
