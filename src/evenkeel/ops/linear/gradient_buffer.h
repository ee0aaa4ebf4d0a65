// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace evenkeel::ops {

/// Accumulates the gradient of one weight over backward passes (Megatron: main_grad). Its memory
/// need not be zeroed: the first accumulation overwrites it. Copies share one buffer.
class GradientBuffer {
 public:
  /// A gradient that the forward pass of the loss computes, before backward() provides its factor.
  /// Undefined after accumulate().
  using PendingGradient = std::shared_ptr<at::Tensor>;

  GradientBuffer() = default;  // no buffer: autograd returns the gradients
  /// An empty buffer.
  explicit GradientBuffer(at::Tensor memory);

  explicit operator bool() const { return state_ != nullptr; }
  /// The accumulated gradient; zeros for an empty buffer.
  const at::Tensor& value() const;
  /// Makes the buffer empty.
  void reset() const;

  /// buffer += gradient, which has the shape of the buffer.
  void accumulate(const at::Tensor& gradient) const;
  /// buffer += dy^T x, by add_weight_gradient(). dy is [n, rows], x is [n, columns].
  void accumulate_weight_gradient(const at::Tensor& dy, const at::Tensor& x) const;
  /// The memory of the buffer, for a caller that accumulates into it.
  struct Target {
    at::Tensor memory;
    bool is_first;  // true: the caller must overwrite; false: add
  };
  /// After this call the buffer is no longer empty.
  Target target() const;

  /// An uninitialized tensor with the shape of the buffer, for the caller to fill. It uses the
  /// memory of the buffer if that is free; another accumulation first clones it out of this memory.
  /// A pending gradient that is destroyed has no effect.
  PendingGradient pending_gradient() const;
  /// buffer += factor * pending
  /// \throws c10::Error if `pending` has already been added
  void accumulate(const PendingGradient& pending, double factor) const;
  /// The same with a factor that is known on its device only. \param factor  a scalar
  void accumulate(const PendingGradient& pending, const at::Tensor& factor) const;

 private:
  struct State {
    at::Tensor memory;
    bool is_empty = true;
    std::weak_ptr<at::Tensor> pending;  // the one in `memory`
  };
  void evict_pending() const;

  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::ops
