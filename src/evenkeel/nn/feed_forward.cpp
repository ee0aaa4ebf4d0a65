// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/feed_forward.h"

#include <ATen/ATen.h>

#include "evenkeel/nn/gated_linear.h"
#include "evenkeel/nn/linear.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/swiglu.h"

namespace evenkeel::nn {

namespace {

/// silu(gate) * up. \param products  [..., 2 F], up, then gate
at::Tensor gated(const FeedForward& feed_forward, const at::Tensor& products) {
  return feed_forward.fused ? ops::swiglu(products) : ops::reference::swiglu(products);
}

/// hidden_norm(hidden), for each expert apart. \param hidden  [..., F]
at::Tensor feed_forward_normed(const FeedForward& feed_forward, const at::Tensor& hidden,
                               Mode mode) {
  const auto& norm = *feed_forward.hidden_norm;
  if (feed_forward.expert_count == 1) return norm(hidden, mode);
  return norm(hidden.unflatten(-1, {feed_forward.expert_count, -1}), mode).flatten(-2);
}

/// The input of `down` after a norm of the hidden values. Under Recompute::norms the backward pass
/// computes it again from the hidden values, which are saved anyway.
Activation normed_hidden(const FeedForward& feed_forward, const at::Tensor& hidden, Mode mode) {
  const auto value = feed_forward_normed(feed_forward, hidden, mode);
  if (!feed_forward.hidden_norm->is_recomputed(feed_forward.recompute, mode)) return value;
  return {value, hidden.detach(), [&feed_forward, mode](const at::Tensor& saved) {
            return feed_forward_normed(feed_forward, saved, mode);
          }};
}

}  // namespace

at::Tensor FeedForward::operator()(const Activation& x, Mode mode) const {
  const auto products = up_gate_scale(linear(x, up_gate.weight(mode)));
  const auto w = down.weight(mode);
  if (fused && !hidden_norm) return gated_linear(products, w);
  const auto hidden = gated(*this, products);
  return linear(hidden_norm ? normed_hidden(*this, hidden, mode) : hidden, w);
}

}  // namespace evenkeel::nn
