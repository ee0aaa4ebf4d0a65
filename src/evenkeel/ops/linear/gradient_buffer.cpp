// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/gradient_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/scalar_tensor.h>

#include <utility>

#include "evenkeel/ops/linear/weight_gradient.h"

namespace evenkeel::ops {

GradientBuffer::GradientBuffer(at::Tensor memory)
    : state_(std::make_shared<State>(State{.memory = std::move(memory), .pending = {}})) {}

/// Clones a pending gradient out of the buffer's memory.
void GradientBuffer::evict_pending() const {
  if (const auto pending = state_->pending.lock()) *pending = state_->memory.clone();
  state_->pending.reset();
}

GradientBuffer::Target GradientBuffer::target() const {
  evict_pending();
  return {state_->memory, std::exchange(state_->is_empty, false)};
}

const at::Tensor& GradientBuffer::value() const {
  const auto [memory, is_first] = target();
  if (is_first) memory.zero_();
  return state_->memory;
}

void GradientBuffer::reset() const {
  state_->is_empty = true;
}

void GradientBuffer::accumulate(const at::Tensor& gradient) const {
  const at::NoGradGuard no_grad;
  const auto [memory, is_first] = target();
  is_first ? memory.copy_(gradient) : memory.add_(gradient);
}

void GradientBuffer::accumulate_weight_gradient(const at::Tensor& dy, const at::Tensor& x) const {
  const at::NoGradGuard no_grad;
  const auto [memory, is_first] = target();
  add_weight_gradient(memory, dy, x, is_first);
}

GradientBuffer::PendingGradient GradientBuffer::pending_gradient() const {
  const bool is_free = state_->is_empty && state_->pending.expired();
  const auto pending =
      std::make_shared<at::Tensor>(is_free ? state_->memory : at::empty_like(state_->memory));
  if (is_free) state_->pending = pending;
  return pending;
}

void GradientBuffer::accumulate(const PendingGradient& pending, double factor) const {
  const at::NoGradGuard no_grad;
  TORCH_CHECK(pending->defined(), "the gradient of this loss was added already");
  if (state_->pending.lock() == pending) {
    state_->memory.mul_(factor);
    state_->pending.reset();
    state_->is_empty = false;
  } else {
    auto [memory, is_first] = target();
    if (is_first) {
      at::mul_out(memory, *pending, at::scalar_tensor(factor, memory.options()));
    } else {
      memory.add_(*pending, factor);
    }
  }
  pending->reset();
}

void GradientBuffer::accumulate(const PendingGradient& pending, const at::Tensor& factor) const {
  if (factor.is_cpu()) return accumulate(pending, factor.item().toDouble());
  const at::NoGradGuard no_grad;
  TORCH_CHECK(pending->defined(), "the gradient of this loss was added already");
  if (state_->pending.lock() == pending) {
    state_->memory.mul_(factor);
    state_->pending.reset();
    state_->is_empty = false;
  } else {
    auto [memory, is_first] = target();
    is_first ? at::mul_out(memory, *pending, factor) : memory.addcmul_(*pending, factor);
  }
  pending->reset();
}

}  // namespace evenkeel::ops
