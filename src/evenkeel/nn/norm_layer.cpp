// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/norm_layer.h"

#include <ATen/ATen.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/add_rms_norm.h"
#include "evenkeel/ops/layer_norm.h"
#include "evenkeel/ops/reference.h"
#include "evenkeel/ops/rms_norm.h"

namespace evenkeel::nn {

namespace {

using norm::Affine;
using norm::EpsilonAt;
using norm::Kind;
using norm::Scope;

/// absmax8: rows divided by an eighth of their largest magnitude, a constant to the gradient; in
/// float32 or wider, so that nothing is rounded before the statistic.
at::Tensor rescaled(const at::Tensor& x) {
  constexpr double kEighth = 0.125;
  const auto row = x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const auto largest = row.detach().abs().amax(-1, /*keepdim=*/true) * kEighth;
  return row / at::where(largest > 0, largest, 1.0);
}

ops::reference::Epsilon place_of(EpsilonAt at) {
  using ops::reference::Epsilon;
  return at == EpsilonAt::inside    ? Epsilon::inside
         : at == EpsilonAt::outside ? Epsilon::outside
                                    : Epsilon::clamp;
}

}  // namespace

NormLayer::NormLayer(const norm::Norm& norm, norm::Variables variables, std::int64_t width,
                     std::int64_t heads, at::Tensor gain, at::Tensor bias, bool fused)
    : norm_(norm),
      features_(norm.scope == Scope::head ? width / heads : width),
      heads_(norm.scope == Scope::head ? heads : 1),
      gain_(std::move(gain)),
      bias_(std::move(bias)),
      fused_(fused) {
  variables["width"] = static_cast<double>(features_);
  out_scale_ = norm.out_scale.value(variables);
  if (norm.stored_at) {
    gain_factor_ = norm.gain_init.value(variables) / norm.stored_at->value(variables);
  }
  EK_ASSERT(gain_.defined() == (norm.affine != Affine::none));
  EK_ASSERT(bias_.defined() == (norm.affine == Affine::vector_bias));
}

at::Tensor NormLayer::operator()(const at::Tensor& x) const {
  const bool split = heads_ > 1 || norm_.scope == Scope::head;
  const auto rows = split ? x.unflatten(-1, {heads_, features_}) : x;  // [..., D]
  const bool scaled_row = norm_.pre_scale == norm::PreScale::absmax8;
  const auto seen = scaled_row ? rescaled(rows) : rows;
  const auto gain = gain_per_feature();

  at::Tensor y;
  if (const bool one_gain = !gain || gain->dim() == 1; fused_ && one_gain && is_plain_rms()) {
    y = ops::rms_norm(seen, gain, norm_.epsilon);
    if (bias_.defined()) y = y + (bias_ * out_scale_).to(y.scalar_type());
  } else if (fused_ && one_gain && norm_.kind == Kind::layer_norm &&
             norm_.epsilon_at == EpsilonAt::inside) {
    const auto bias = bias_.defined() ? std::optional(bias_ * out_scale_) : std::nullopt;
    y = ops::layer_norm(seen, gain, bias, norm_.epsilon);
  } else {
    const auto bias = bias_.defined()
                          ? std::optional(bias_.view({-1, features_}).squeeze(0) * out_scale_)
                          : std::nullopt;
    y = ops::reference::affine(statistic(seen), gain, bias, seen.scalar_type());
  }
  if (!gain && out_scale_ != 1) y = y * out_scale_;
  return (split ? y.flatten(-2) : y).to(x.scalar_type());
}

std::optional<std::tuple<at::Tensor, at::Tensor>> NormLayer::after_add(
    const at::Tensor& residual, const at::Tensor& branch) const {
  const bool simple = fused_ && is_plain_rms() && norm_.scope == Scope::token &&
                      norm_.pre_scale == norm::PreScale::none && gain_.defined() &&
                      !bias_.defined();
  if (!simple) return std::nullopt;
  return ops::add_rms_norm(residual, branch, gain_per_feature(), norm_.epsilon);
}

/// The effective gain times out_scale: [D], or [heads, D] if heads do not share it.
std::optional<at::Tensor> NormLayer::gain_per_feature() const {
  if (!gain_.defined()) return std::nullopt;
  auto gain = gain_factor_ == 1 ? gain_ : gain_ * gain_factor_;
  if (norm_.gain_form == norm::GainForm::one_plus_w) gain = gain + 1;
  if (out_scale_ != 1) gain = gain * out_scale_;
  if (norm_.scope == Scope::head && !norm_.heads_share) {
    return gain.view({heads_, -1}).expand({heads_, features_});
  }
  return gain.expand({features_});
}

/// The part of the norm before its gain, in double.
at::Tensor NormLayer::statistic(const at::Tensor& x) const {
  const auto at = place_of(norm_.epsilon_at);
  switch (norm_.kind) {
    case Kind::layer_norm:
      return ops::reference::layer_rows(x, norm_.epsilon, at);
    case Kind::rms_norm:
      return ops::reference::rms_rows(x, norm_.epsilon, at, norm_.partial);
    case Kind::l2:
    case Kind::scale_norm:
      return ops::reference::unit_rows(x, norm_.epsilon, at);
    case Kind::scale:
      return x.to(at::kDouble);
    default:
      break;
  }
  EK_ASSERT(!"a kind that not_run_yet() refuses");
  return x;
}

bool NormLayer::is_plain_rms() const {
  return norm_.kind == Kind::rms_norm && norm_.partial == 1 &&
         norm_.epsilon_at == EpsilonAt::inside;
}

}  // namespace evenkeel::nn
