// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/gradient_sum.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>

#include <utility>

#include "evenkeel/ops/weight_gradient.h"

namespace evenkeel::ops {

GradientSum::GradientSum(at::Tensor buffer) : state_(c10::make_intrusive<State>()) {
  state_->buffer = std::move(buffer);
}

/// A draft in the buffer would be lost.
void GradientSum::check_free() const {
  TORCH_CHECK(!state_->is_empty || state_->claim.expired(),
              "a gradient is added to the weight of a head between its loss and its backward pass");
}

const at::Tensor& GradientSum::value() const {
  if (state_->is_empty) {
    check_free();
    state_->buffer.zero_();
    state_->is_empty = false;
  }
  return state_->buffer;
}

GradientSum::Place GradientSum::place() const {
  check_free();
  state_->is_used = true;
  return {state_->buffer, std::exchange(state_->is_empty, false)};
}

void GradientSum::add_product(const at::Tensor& dy, const at::Tensor& x) const {
  const auto [buffer, is_first] = place();
  add_weight_gradient(buffer, dy, x, is_first);
}

GradientSum::Draft GradientSum::draft() const {
  if (!state_->is_empty || !state_->claim.expired()) return {at::empty_like(buffer()), nullptr};
  const auto claim = std::make_shared<char>();
  state_->claim = claim;
  return {buffer(), claim};
}

void GradientSum::add(const Draft& draft, double factor) const {
  const at::NoGradGuard no_grad;
  const bool is_here = draft.claim != nullptr && state_->claim.lock() == draft.claim;
  TORCH_CHECK(!is_here || state_->is_empty, "the gradient of this loss was added already");
  state_->is_used = true;
  const bool is_first = std::exchange(state_->is_empty, false);
  if (is_here) {
    state_->buffer.mul_(factor);
  } else if (is_first) {
    at::mul_out(state_->buffer, draft.gradient, at::scalar_tensor(factor));
  } else {
    state_->buffer.add_(draft.gradient, factor);
  }
}

at::IValue GradientSum::to_value() const {
  return at::IValue::make_capsule(state_);
}

GradientSum GradientSum::of(const at::IValue& value) {
  GradientSum sum;
  sum.state_ = c10::static_intrusive_pointer_cast<State>(value.toCapsule());
  return sum;
}

}  // namespace evenkeel::ops
