// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace evenkeel::ops {

/// Where backward passes add up the gradient of one weight. Nobody need clear its memory: what lies
/// there does not count until something is added. Copies are the same sum.
class GradientSum {
 public:
  /// A gradient whose factor is not known yet. The tensor is undefined once it was added.
  using Draft = std::shared_ptr<at::Tensor>;

  GradientSum() = default;  // no sum: gradients are autograd's
  /// An empty sum.
  explicit GradientSum(at::Tensor memory);

  explicit operator bool() const { return state_ != nullptr; }
  /// The sum: zeros if nothing was added.
  const at::Tensor& value() const;
  /// Makes the sum empty.
  void forget() const;

  void add(const at::Tensor& gradient) const;
  /// += dy^T x, by add_weight_gradient().
  void add_product(const at::Tensor& dy, const at::Tensor& x) const;
  /// For who writes it himself: everything if `is_first`, or else adds to it.
  struct Target {
    at::Tensor memory;
    bool is_first;
  };
  Target target() const;

  /// A tensor like the sum, to be filled: in its own memory if that is free. Who needs that sooner
  /// moves the draft elsewhere; one that is dropped has changed nothing.
  Draft draft() const;
  /// += factor * draft
  /// \throws c10::Error if it was added already
  void add(const Draft& draft, double factor) const;

 private:
  struct State {
    at::Tensor memory;
    bool is_empty = true;
    std::weak_ptr<at::Tensor> draft;  // the one in `memory`
  };
  void make_room() const;

  std::shared_ptr<State> state_;
};

}  // namespace evenkeel::ops
