// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "evenkeel/nn/mode.h"
#include "evenkeel/ops/linear/gradient_buffer.h"
#include "evenkeel/ops/linear/int8_linear.h"

namespace evenkeel::nn {

/// The weight of a linear layer and the buffer of its gradient (Megatron: main_grad).
struct Weight {
  at::Tensor value;                     // [rows, columns], of experts [E, rows, columns]
  ops::GradientBuffer gradient_buffer;  // the backward pass of the layer accumulates into
                                        // it; empty: autograd returns the gradient
  std::optional<ops::Int8Weight> int8;  // the quantized weight, for inference; `value` is not read

  Weight(at::Tensor of, ops::GradientBuffer into = {})  // NOLINT: a tensor is one
      : value(std::move(of)), gradient_buffer(std::move(into)) {}
};

/// What a quantized weight is for. `decoding`: products of few rows read int8 values.
/// `evaluation`: all products read the rounded weights in their own dtype.
enum class Int8Use { decoding, evaluation };

/// A stored matrix V of a block and the reparameterizations of its rows:
///   none           weight = V
///   weight_norm    row j of the weight = row_gain_j * v_j / |v_j|
///   sigma_reparam  weight = (gamma / sigma) V, sigma = left . V right
/// Stacked experts, [E, rows, columns], are one matrix of E * rows rows here.
/// \source Salimans and Kingma 2016, arXiv:1602.07868, eq. 2 (weight_norm);
///         Zhai et al. 2023, arXiv:2303.06296 (sigma_reparam)
class Matrix {
 public:
  /// The rows of one slice ("attention.q") of the stored matrix, and their reparameterization.
  struct RowBlock {
    std::int64_t rows = 0;
    at::Tensor row_gain;  // weight_norm: [rows], float32 or float64; else undefined
    at::Tensor gamma;     // sigma_reparam: [1], float32 or float64; else undefined
    at::Tensor left;      // sigma_reparam: [rows], buffer, updated by a forward pass in training
    at::Tensor right;     // sigma_reparam: [columns], buffer as `left`
  };

  Matrix() = default;
  /// \param parts  all rows, in order; empty for a matrix without reparameterizations
  /// \param gradient_buffer  of the stored matrix
  /// \param fused  false: reference implementations (ops/common/reference.h)
  explicit Matrix(at::Tensor stored, std::vector<RowBlock> parts = {},
                  ops::GradientBuffer gradient_buffer = {}, bool fused = true);

  /// The weight, with the shape and dtype of the stored matrix. In training, sigma_reparam first
  /// performs one power iteration without gradient: left = unit(V right), then
  /// right = unit(V^T left).
  at::Tensor operator()(Mode mode) const;

  /// The weight of operator() with its gradient buffer, for linear().
  Weight weight(Mode mode) const;

  /// Rounds the weight of evaluation to int8 (ops::quantize_rows()). For inference: V and its
  /// reparameterizations are not read afterwards, and this object has no reference to them.
  void quantize(Int8Use use);

 private:
  std::vector<at::Tensor> row_blocks(const std::vector<std::int64_t>& sizes) const;

  at::Tensor stored_;
  std::vector<RowBlock> parts_;
  ops::GradientBuffer gradient_buffer_;
  bool fused_ = true;
  std::optional<ops::Int8Weight> int8_;
};

}  // namespace evenkeel::nn
