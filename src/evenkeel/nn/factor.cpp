// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/factor.h"

#include <ATen/ATen.h>

#include <utility>

#include "evenkeel/base/error.h"
#include "evenkeel/ops/norms/affine.h"

namespace evenkeel::nn {

using norm::Learned;

Factor::Factor(const norm::Number& number, const norm::Variables& variables, at::Tensor parameter)
    : parameter_(std::move(parameter)) {
  const auto* const learned = std::get_if<Learned>(&number);
  EK_ASSERT((learned != nullptr) == parameter_.defined());
  if (learned == nullptr) {
    fixed_ = std::get<norm::Expression>(number).value(variables);
    return;
  }
  transform_ = learned->transform;
  if (learned->stored_at) {
    stored_factor_ = learned->init.value(variables) / learned->stored_at->value(variables);
  }
  if (learned->at_most) at_most_ = learned->at_most->value(variables);
}

at::Tensor Factor::value() const {
  EK_ASSERT(is_learned());
  auto value = stored_factor_ == 1 ? parameter_ : parameter_ * stored_factor_;
  switch (transform_) {
    case Learned::Transform::exp:
      value = value.exp();
      break;
    case Learned::Transform::abs:
      value = value.abs();
      break;
    case Learned::Transform::silu:
      value = at::silu(value);
      break;
    case Learned::Transform::identity:
      break;
  }
  return at_most_ ? value.clamp_max(*at_most_) : value;
}

at::Tensor Factor::operator()(const at::Tensor& x) const {
  if (is_learned()) return ops::affine(x, value());
  return fixed_ == 1 ? x : x * fixed_;
}

}  // namespace evenkeel::nn
