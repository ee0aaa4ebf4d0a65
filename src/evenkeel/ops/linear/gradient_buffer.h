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

  /// += gradient, of the shape of the buffer.
  void accumulate(const at::Tensor& gradient) const;
  /// += dy^T x, by add_weight_gradient(). dy is [n, rows], x is [n, columns].
  void accumulate_weight_gradient(const at::Tensor& dy, const at::Tensor& x) const;
  /// The memory, for a caller that adds to it itself.
  struct Target {
    at::Tensor memory;
    bool is_first;  // the caller must overwrite, else add
  };
  /// The buffer counts as written from then on.
  Target target() const;

  /// An uninitialized tensor of the shape of the buffer, for the caller to fill; in the buffer's
  /// memory if that is free. If the memory is needed earlier, the tensor is cloned out of it. A
  /// tensor that is dropped changes nothing.
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
