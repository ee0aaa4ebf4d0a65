// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <utility>

namespace evenkeel::nn {

/// What a matrix product reads, and perhaps how the same bits can be had again from what is kept
/// anyway: a norm of the stream, the gate of products.
struct Activation {
  at::Tensor value;                   // [..., columns]
  std::function<at::Tensor()> again;  // called without gradients; empty: the value itself is kept

  Activation(at::Tensor kept) : value(std::move(kept)) {}  // NOLINT: a tensor is one
  Activation(at::Tensor now, std::function<at::Tensor()> later)
      : value(std::move(now)), again(std::move(later)) {}
};

/// x W^T, with the gradients of at::linear(), bit for bit. Of an activation that can be had again
/// nothing is kept: the backward pass computes it for the gradient of w.
/// \param w  [rows, columns]
at::Tensor linear(const Activation& x, const at::Tensor& w);

}  // namespace evenkeel::nn
