// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// What a matrix product reads, and perhaps how the same bits can be had again from what is kept
/// anyway: a norm of the stream.
struct Activation {
  using Again = std::function<at::Tensor(const at::Tensor& kept)>;

  at::Tensor value;  // [..., columns]
  at::Tensor kept;   // what `again` is given; undefined where the value itself is kept
  Again again;       // called without gradients, perhaps long after the forward pass
  /// Gets the value once more: the gradient of what is done with that joins the product's own in
  /// the backward pass, in one pass over memory. Null: nobody wants it.
  at::Tensor* passed = nullptr;

  Activation(at::Tensor itself) : value(std::move(itself)) {}  // NOLINT: a tensor is one
  Activation(at::Tensor now, at::Tensor instead, Again later)
      : value(std::move(now)), kept(std::move(instead)), again(std::move(later)) {}
};

/// x W^T, with the gradients of at::linear(), bit for bit, unless the value is passed on: a sum of
/// two gradients is then rounded once. Of an activation that can be had again only what it comes
/// from is kept: the backward pass computes it for the gradient of w. Where w has a sum of
/// gradients, the backward pass adds to it (ops::add_weight_gradient(), which may round otherwise),
/// and autograd sees none.
at::Tensor linear(const Activation& x, const Weight& w);

/// The gradient of w in y = x W^T, dy^T x; added to its sum where it has one, and then undefined.
/// \param dy  [n, rows]
/// \param x   [n, columns]
at::Tensor weight_gradient(const ops::GradientSum& sum, const at::Tensor& dy, const at::Tensor& x);

}  // namespace evenkeel::nn
