// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/factor.h"

#include <ATen/ATen.h>

#include <utility>
#include <variant>

#include "evenkeel/base/error.h"
#include "evenkeel/nn/step_number.h"
#include "evenkeel/ops/norms/affine.h"

namespace evenkeel::nn {

using norm::Learned;

Factor::Factor(norm::Number number, const norm::Variables& variables, at::Tensor parameter)
    : number_(std::move(number)), parameter_(std::move(parameter)) {
  EK_ASSERT(std::holds_alternative<Learned>(number_) == parameter_.defined());
  set_step(variables);
}

bool Factor::set_step(const norm::Variables& variables) {
  if (const auto* const formula = std::get_if<norm::Expression>(&number_)) {
    fixed_ = formula->value(variables);
    return names_step(*formula);
  }
  const auto& [size, init, transform, at_most, stored_at] = std::get<Learned>(number_);
  if (stored_at) stored_factor_ = init.value(variables) / stored_at->value(variables);
  if (at_most) at_most_ = at_most->value(variables);
  return (stored_at && (names_step(init) || names_step(*stored_at))) ||
         (at_most && names_step(*at_most));
}

at::Tensor Factor::value() const {
  EK_ASSERT(is_learned());
  auto value = stored_factor_ == 1 ? parameter_ : parameter_ * stored_factor_;
  switch (std::get<Learned>(number_).transform) {
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
