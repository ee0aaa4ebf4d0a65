// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/head.h"

#include <ATen/ATen.h>

#include "evenkeel/nn/matrix.h"
#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/linear_cross_entropy.h"
#include "evenkeel/ops/norms/affine.h"

namespace evenkeel::nn {

namespace {

/// The rows of the head's weight with logits, and possibly rows of padding after them.
Weight head_weight(const Head& head, at::ScalarType dtype) {
  const auto& layers = head.layers;
  if (layers.rounded_head.defined()) return layers.rounded_head;
  if (layers.int8_head) return ops::dequantized(*layers.int8_head, dtype);
  return {head.weight.value, head.weight.gradient_buffer};
}

/// The total of the sums; z_loss, if not null, receives its parts.
at::Tensor loss_total(const ops::LossSums& sums, ZLoss* z_loss) {
  if (z_loss != nullptr) {
    z_loss->cross_entropy = sums.cross_entropy;
    z_loss->squared_lse = sums.squared_lse;
  }
  return sums.total;
}

/// head_loss_sum() by plain tensor operations.
at::Tensor formula_loss_sum(const at::Tensor& logits, const at::Tensor& targets, ZLoss* z_loss) {
  auto cross_entropy = ops::reference::cross_entropy_sum(logits, targets);
  if (z_loss == nullptr) return cross_entropy;
  const auto squared_lse = ops::reference::squared_lse_sum(logits, targets);
  return loss_total({.total = cross_entropy + squared_lse * z_loss->coefficient,
                     .cross_entropy = cross_entropy.detach(),
                     .squared_lse = squared_lse.detach()},
                    z_loss);
}

}  // namespace

at::Tensor head_logits(const Head& head, const at::Tensor& x) {
  const auto& int8 = head.layers.int8_head;
  auto y = int8 ? ops::int8_linear(x, *int8)
                : ops::deterministic_linear(
                      x, head_weight(head, x.scalar_type()).value.narrow(0, 0, head.vocabulary));
  y = y.to(head.logits_dtype);
  y = head.layers.logits_scale(y);
  const auto softcap = value_of(head.layers.logits_softcap);
  return softcap ? at::tanh(y / *softcap) * *softcap : y;
}

at::Tensor head_loss_sum(const Head& head, const at::Tensor& x, const at::Tensor& targets,
                         ZLoss* z_loss) {
  if (!head.fused) return formula_loss_sum(head_logits(head, x), targets, z_loss);
  const auto weight = head_weight(head, x.scalar_type());
  const auto& scale = head.layers.logits_scale;
  ops::LogitsOptions rule{.vocabulary = head.vocabulary,
                          .softcap = value_of(head.layers.logits_softcap),
                          .z_loss = z_loss != nullptr ? z_loss->coefficient : 0};
  if (!scale.is_learned()) {
    rule.scale = scale.fixed();
    return loss_total(
        ops::linear_cross_entropy_sums(x, weight.value, targets, rule, weight.gradient_buffer),
        z_loss);
  }
  // A trained scale, [1] or one a token of the vocabulary, multiplies the rows of the weight.
  const auto scored = weight.value.narrow(0, 0, head.vocabulary);
  const auto value = scale.value();
  const auto scaled = value.size(0) == 1
                          ? ops::affine(scored, value)  // its gradient: a fixed order
                          : (scored * value.unsqueeze(-1)).to(scored.scalar_type());
  return loss_total(ops::linear_cross_entropy_sums(x, scaled, targets, rule), z_loss);
}

}  // namespace evenkeel::nn
