// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/gradient_sum.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>

#include <utility>

#include "evenkeel/ops/weight_gradient.h"

namespace evenkeel::ops {

GradientSum::GradientSum(at::Tensor memory)
    : state_(std::make_shared<State>(State{.memory = std::move(memory), .draft = {}})) {}

/// Moves a draft out of the memory.
void GradientSum::make_room() const {
  if (const auto draft = state_->draft.lock()) *draft = state_->memory.clone();
  state_->draft.reset();
}

GradientSum::Target GradientSum::target() const {
  make_room();
  return {state_->memory, std::exchange(state_->is_empty, false)};
}

const at::Tensor& GradientSum::value() const {
  const auto [memory, is_first] = target();
  if (is_first) memory.zero_();
  return state_->memory;
}

void GradientSum::forget() const {
  state_->is_empty = true;
}

void GradientSum::add(const at::Tensor& gradient) const {
  const at::NoGradGuard no_grad;
  const auto [memory, is_first] = target();
  is_first ? memory.copy_(gradient) : memory.add_(gradient);
}

void GradientSum::add_product(const at::Tensor& dy, const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  const auto [memory, is_first] = target();
  add_weight_gradient(memory, dy, x, is_first);
}

GradientSum::Draft GradientSum::draft() const {
  const bool is_free = state_->is_empty && state_->draft.expired();
  const auto draft =
      std::make_shared<at::Tensor>(is_free ? state_->memory : at::empty_like(state_->memory));
  if (is_free) state_->draft = draft;
  return draft;
}

void GradientSum::add(const Draft& draft, double factor) const {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(draft->defined(), "the gradient of this loss was added already");
  if (state_->draft.lock() == draft) {
    state_->memory.mul_(factor);
    state_->draft.reset();
    state_->is_empty = false;
  } else {
    auto [memory, is_first] = target();
    if (is_first) {
      at::mul_out(memory, *draft, at::scalar_tensor(factor, memory.options()));
    } else {
      memory.add_(*draft, factor);
    }
  }
  draft->reset();
}

}  // namespace evenkeel::ops
