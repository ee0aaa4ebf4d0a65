// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

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
/// of two gradients is then rounded once.
///
/// The backward pass recomputes an activation that has a recomputation; only the tensor it comes
/// from is saved. A recomputation and a gradient buffer are C++ objects: this is no registered
/// operator, and its tensor-only form is at::linear().
///
/// \param x  [..., columns]
/// \param w  [rows, columns]
/// \param gradient_buffer  [rows, columns]: accumulates the gradient of w
///                 (add_weight_gradient(), which may round otherwise), of which autograd then sees
///                 none; none: autograd's
/// \return [..., rows]
at::Tensor linear(const Activation& x, const at::Tensor& w,
                  const GradientBuffer& gradient_buffer = {});

/// The gradient of w in y = x W^T, dy^T x; added to the buffer if there is one, and then undefined.
/// \param dy  [n, rows]
/// \param x   [n, columns]
/// \return [rows, columns], or undefined
at::Tensor weight_gradient(const GradientBuffer& gradient_buffer, const at::Tensor& dy,
                           const at::Tensor& x);

}  // namespace evenkeel::ops
