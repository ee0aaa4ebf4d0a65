// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/residual.h"

#include <ATen/ATen.h>

#include "evenkeel/ops/common/reference.h"
#include "evenkeel/ops/norms/sphere.h"

namespace evenkeel::nn {

namespace {

using norm::Tap;

/// skip_scale * (sum of the taps). [B, T, D]
at::Tensor skip_of(const ResidualRule& rule, const Taps& taps) {
  at::Tensor skip;
  for (const auto tap : rule.skip) {
    const auto& tapped = tap == Tap::normed   ? taps.normed
                         : tap == Tap::stream ? taps.stream
                                              : taps.block_input;
    skip = skip.defined() ? skip + tapped : tapped;
  }
  return rule.skip_scale(skip);
}

// On other devices than the CPU the formulas run, whose sums over rows have LibTorch's order.
at::Tensor on_sphere(const ResidualRule& rule, const at::Tensor& skip, const at::Tensor& branch) {
  const auto& by = rule.branch_scale;
  const auto step = by.is_learned() ? by.value().to(at::kDouble)
                                    : at::full({1}, by.fixed(), skip.options().dtype(at::kDouble));
  if (rule.fused) return ops::sphere_step(skip, branch, step);
  return ops::reference::sphere_step(skip, branch, step).to(skip.scalar_type());
}

at::Tensor along_geodesic(const ResidualRule& rule, const at::Tensor& skip,
                          const at::Tensor& branch) {
  const auto scale = rule.angle_scale.to(at::kDouble), bias = rule.angle_bias.to(at::kDouble);
  const auto decay = rule.angle_decay.value;
  if (rule.fused) return ops::geodesic_step(skip, branch, scale, bias, decay);
  return ops::reference::geodesic_step(skip, branch, scale, bias, decay).to(skip.scalar_type());
}

}  // namespace

ResidualStream residual_update(const ResidualRule& rule, const Taps& taps, const at::Tensor& branch,
                               Mode mode, const std::optional<at::Tensor>& second_branch) {
  auto skip = skip_of(rule, taps);
  if (second_branch) skip = skip + *second_branch;
  auto sum = rule.update == norm::Update::sphere ? ResidualStream(on_sphere(rule, skip, branch))
             : rule.update == norm::Update::geodesic
                 ? ResidualStream(along_geodesic(rule, skip, rule.branch_scale(branch)))
                 : ResidualStream(skip, rule.branch_scale(branch));
  if (rule.residual) sum = ResidualStream(sum.normed(*rule.residual, mode));
  if (rule.damp) {
    const auto s = sum.value();
    sum = ResidualStream(s - (*rule.damp)(s.detach()));
  }
  return sum;
}

}  // namespace evenkeel::nn
