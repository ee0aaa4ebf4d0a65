// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>

#include "evenkeel/nn/matrix.h"

namespace evenkeel::nn {

/// The input of a linear layer, and perhaps how to recompute it bit by bit from a tensor that is
/// saved anyway: a norm of the residual stream.
struct Activation {
  using Recomputation = std::function<at::Tensor(const at::Tensor& saved)>;

  at::Tensor value;  // [..., columns]
  at::Tensor saved;  // the argument of `recompute`; undefined where the value itself is saved
  Recomputation recompute;  // called in the backward pass, without gradients
  /// Gets the value once more, for the residual connection: its gradient joins the layer's own in
  /// one addmm of the backward pass (`return_residual` of flash-attn's FusedDense). May be null.
  at::Tensor* residual_out = nullptr;

  Activation(at::Tensor itself) : value(std::move(itself)) {}  // NOLINT: a tensor is one
  Activation(at::Tensor now, at::Tensor from, Recomputation again)
      : value(std::move(now)), saved(std::move(from)), recompute(std::move(again)) {}
};

/// x W^T, with the gradients of at::linear(), bit for bit, unless the residual is returned: a sum
/// of two gradients is then rounded once. Of an activation that is recomputed only the tensor it
/// comes from is saved: the backward pass recomputes it for the gradient of w. Where w has a sum of
/// gradients, the backward pass adds to it (ops::add_weight_gradient(), which may round otherwise),
/// and autograd sees none.
at::Tensor linear(const Activation& x, const Weight& w);

/// The gradient of w in y = x W^T, dy^T x; added to its sum where it has one, and then undefined.
/// \param dy  [n, rows]
/// \param x   [n, columns]
at::Tensor weight_gradient(const ops::GradientBuffer& gradient_buffer, const at::Tensor& dy,
                           const at::Tensor& x);

}  // namespace evenkeel::nn
