// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace evenkeel::ops {

/// Accumulates the gradient of one weight over backward passes (Megatron: main_grad). Its memory
/// need not be zeroed: the first accumulation overwrites it. Copies share one buffer.
class GradientBuffer {
 public:
  /// A gradient that the loss computes before backward() knows its factor; undefined once it is
  /// added.
  using PendingGradient = std::shared_ptr<at::Tensor>;

  GradientBuffer() = default;  // no buffer: autograd returns the gradients
  /// An empty buffer.
  explicit GradientBuffer(at::Tensor memory);

  explicit operator bool() const { return state_ != nullptr; }
  /// The accumulated gradient: zeros if nothing was added.
  const at::Tensor& value() const;
  /// Makes the buffer empty.
  void reset() const;

  void accumulate(const at::Tensor& gradient) const;
  /// += dy^T x, by add_weight_gradient().
  void accumulate_weight_gradient(const at::Tensor& dy, const at::Tensor& x) const;
  /// For a caller that writes it itself: it overwrites if `is_first`, else adds.
  struct Target {
    at::Tensor memory;
    bool is_first;
  };
  Target target() const;

  /// A tensor of the shape of the buffer, to be filled; in the buffer's memory if that is free. If
  /// the memory is needed earlier, it is cloned. A dropped one changes nothing.
  PendingGradient pending_gradient() const;
  /// += factor * pending
  /// \throws c10::Error if it was added already
  void accumulate(const PendingGradient& pending, double factor) const;

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
