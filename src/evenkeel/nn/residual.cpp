// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/residual.h"

#include <ATen/ATen.h>

#include <numbers>

#include "evenkeel/ops/affine.h"
#include "evenkeel/ops/reference.h"

namespace evenkeel::nn {

namespace {

using norm::Tap;
using ops::reference::root;

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

/// Rows over their length, in double.
at::Tensor unit(const at::Tensor& x) {
  constexpr double kTiny = 1e-12;
  return ops::reference::unit_rows(x, kTiny);
}

at::Tensor on_sphere(const at::Tensor& skip, const at::Tensor& branch, const Factor& step) {
  const auto from = unit(skip);
  const auto towards = unit(branch) - from;
  const auto moved = step.is_learned() ? ops::affine(towards, step.value().to(at::kDouble))
                                       : towards * step.fixed();
  return unit(from + moved).to(skip.scalar_type());
}

at::Tensor along_geodesic(const ResidualRule& rule, const at::Tensor& skip,
                          const at::Tensor& branch) {
  constexpr double kMost = std::numbers::pi / 4;
  const auto x = skip.to(at::kDouble);
  const auto g = branch.to(at::kDouble);
  const auto dot = [](const at::Tensor& a, const at::Tensor& b) {
    return (a * b).sum(-1, /*keepdim=*/true);
  };
  const auto squares = dot(x, x);
  const auto defined = squares > 0;
  const auto tangent = g - dot(x, g) / at::where(defined, squares, 1.0) * x;
  const auto length = root(squares);
  const auto speed = root(dot(tangent, tangent));
  auto angle = (speed / at::where(defined, length, 1.0)).clamp_max(kMost);
  angle = ops::affine(angle, rule.angle_scale.to(at::kDouble), rule.angle_bias.to(at::kDouble));
  angle = (angle * rule.angle_decay).clamp_max(kMost);
  const auto direction = tangent / at::where(speed > 0, speed, 1.0);
  const auto moved = x * angle.cos() + direction * length * angle.sin();
  return at::where(defined, moved, x + g).to(skip.scalar_type());
}

}  // namespace

Stream added(const ResidualRule& rule, const Taps& taps, const at::Tensor& branch, Mode mode,
             const std::optional<at::Tensor>& more) {
  auto skip = skip_of(rule, taps);
  if (more) skip = skip + *more;
  auto sum = rule.update == norm::Update::sphere
                 ? Stream(on_sphere(skip, branch, rule.branch_scale))
             : rule.update == norm::Update::geodesic
                 ? Stream(along_geodesic(rule, skip, rule.branch_scale(branch)))
                 : Stream(skip, rule.branch_scale(branch));
  if (rule.residual) sum = Stream(sum.normed(*rule.residual, mode));
  if (rule.damp) {
    const auto s = sum.value();
    sum = Stream(s - (*rule.damp)(s.detach()));
  }
  return sum;
}

}  // namespace evenkeel::nn
