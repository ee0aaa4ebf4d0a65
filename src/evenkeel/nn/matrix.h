// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "evenkeel/nn/mode.h"
#include "evenkeel/ops/linear/gradient_buffer.h"

namespace evenkeel::nn {

/// The weight of a linear layer, and the buffer of its gradient.
struct Weight {
  at::Tensor value;                     // [rows, columns], or of experts [E, rows, columns]
  ops::GradientBuffer gradient_buffer;  // the product itself adds to it; none: autograd's

  Weight(at::Tensor of, ops::GradientBuffer into = {})  // NOLINT: a tensor is one
      : value(std::move(of)), gradient_buffer(std::move(into)) {}
};

/// A stored matrix of a block, and the reparameterizations by which the forward pass computes its
/// weight from it. Without rules the weight is the stored matrix. Stacked experts, [E, rows,
/// columns], are one matrix of E * rows rows to it.
class Matrix {
 public:
  /// Some of its rows that have a name of their own ("attention.q"), and their rule.
  struct RowBlock {
    std::int64_t first = 0, rows = 0;
    at::Tensor row_gain;     // weight_norm: [rows]
    at::Tensor gamma;        // sigma_reparam: [1]
    at::Tensor left, right;  // sigma_reparam: [rows], [columns]; moved by a training pass
  };

  Matrix() = default;
  /// \param parts     all rows, in order; none for a matrix without rules
  /// \param gradient_buffer  of the gradients of the stored matrix, if products may add to it
  /// \param fused     false: rules are formulas in tensor operations
  explicit Matrix(at::Tensor stored, std::vector<RowBlock> parts = {},
                  ops::GradientBuffer gradient_buffer = {}, bool fused = true);

  /// The shape and dtype of the stored matrix:
  ///   weight_norm    row j = row_gain_j * v_j / |v_j|
  ///   sigma_reparam  (gamma / sigma) V, sigma = left . V right; in training, first, without
  ///                  gradient: left = unit(V right), right = unit(V^T left)
  /// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2; Zhai et al. 2023, arXiv:2303.06296
  at::Tensor operator()(Mode mode) const;

  /// The same for a product.
  Weight weight(Mode mode) const;

  const at::Tensor& stored() const { return stored_; }

 private:
  at::Tensor stored_;
  std::vector<RowBlock> parts_;
  ops::GradientBuffer gradient_buffer_;
  bool fused_ = true;
};

}  // namespace evenkeel::nn
