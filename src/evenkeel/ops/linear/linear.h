// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>

#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::ops {

/// The input of a linear layer. With `recompute`, `value` is the output of a norm; the backward
/// pass recomputes `value` bit for bit from `saved`, the norm's input, which is saved anyway.
struct Activation {
  using Recomputation = std::function<at::Tensor(const at::Tensor& saved)>;

  at::Tensor value;         // [..., columns]
  at::Tensor saved;         // the argument of `recompute`; undefined if the value itself is saved
  Recomputation recompute;  // called in the backward pass, without gradients
  /// Output, may be null: `value` again, for the skip connection. Its gradient and the layer's
  /// input gradient are then added inside one GEMM (beta = 1), as with `return_residual` of
  /// flash-attn's FusedDense.
  at::Tensor* residual_out = nullptr;

  Activation(at::Tensor itself) : value(std::move(itself)) {}  // NOLINT: implicit on purpose
  Activation(at::Tensor now, at::Tensor from, Recomputation again)
      : value(std::move(now)), saved(std::move(from)), recompute(std::move(again)) {}
};

/// x W^T, as at::linear(), by the products of ops/linear/deterministic_matmul.h. With
/// `residual_out` the sum of two gradients is rounded once.
///
/// For an activation with `recompute`, only Activation::saved is saved for the backward pass. This
/// function is no registered operator, because recomputations and gradient buffers are C++ objects.
///
/// \param x  [..., columns]
/// \param w  [rows, columns]
/// \param gradient_buffer  [rows, columns]: accumulates the gradient of w
///                 with add_weight_gradient(), whose rounding may differ; autograd then does not
///                 return it. Empty: autograd returns it
/// \return [..., rows]
at::Tensor linear(const Activation& x, const at::Tensor& w,
                  const GradientBuffer& gradient_buffer = {});

/// The gradient of w in y = x W^T: dy^T x. With a gradient buffer it is accumulated there.
/// \param dy  [n, rows]
/// \param x   [n, columns]
/// \return [rows, columns]; undefined with a gradient buffer
at::Tensor weight_gradient(const GradientBuffer& gradient_buffer, const at::Tensor& dy,
                           const at::Tensor& x);

}  // namespace evenkeel::ops
