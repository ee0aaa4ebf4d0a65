// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/intrusive_ptr.h>

#include <memory>

namespace evenkeel::ops {

/// Where backward passes add up the gradient of one weight. Nobody need clear its buffer: of a sum
/// that was emptied, what lies there does not count until something is added. Copies are the same
/// sum.
class GradientSum {
 public:
  /// A gradient made of a forward pass already, and perhaps in the sum's own buffer.
  struct Draft {
    at::Tensor gradient;          // like buffer(), uninitialised
    std::shared_ptr<void> claim;  // on the buffer; null: memory of its own
  };

  GradientSum() = default;  // no sum: gradients are autograd's
  /// Of what is in the buffer.
  explicit GradientSum(at::Tensor buffer);

  explicit operator bool() const { return state_.defined(); }
  /// The memory, whatever is in it.
  const at::Tensor& buffer() const { return state_->buffer; }
  /// The sum, in buffer(); zeros if nothing was added.
  const at::Tensor& value() const;
  void empty() const { state_->is_empty = true; }
  /// Whether a product or a draft ever came here; others get what autograd brings.
  bool is_used() const { return state_->is_used; }

  /// += dy^T x, as add_weight_gradient().
  void add_product(const at::Tensor& dy, const at::Tensor& x) const;
  /// For what is not a whole product: the buffer and whether it is empty; all of it must be written
  /// if it is, or else be added to.
  struct Place {
    at::Tensor buffer;
    bool is_first;
  };
  Place place() const;

  /// Memory for a gradient whose factor is known later: the buffer, if nothing else is in it. A
  /// draft that is dropped has changed nothing.
  Draft draft() const;
  /// += factor * draft
  void add(const Draft& draft, double factor) const;

  /// For a node of autograd, from its forward to its backward pass.
  at::IValue to_value() const;
  static GradientSum of(const at::IValue& value);

 private:
  struct State : torch::CustomClassHolder {
    at::Tensor buffer;
    bool is_empty = false, is_used = false;
    std::weak_ptr<void> claim;  // of the draft in the buffer
  };
  void check_free() const;

  c10::intrusive_ptr<State> state_;
};

}  // namespace evenkeel::ops
