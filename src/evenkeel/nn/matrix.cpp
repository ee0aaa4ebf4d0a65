// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/matrix.h"

#include <ATen/ATen.h>

#include <utility>

#include "evenkeel/nn/reparameterized_weight.h"
#include "evenkeel/ops/linear/split_rows.h"

namespace evenkeel::nn {

Matrix::Matrix(at::Tensor stored, std::vector<RowBlock> parts, ops::GradientBuffer gradient_buffer,
               bool fused)
    : stored_(std::move(stored)),
      parts_(std::move(parts)),
      gradient_buffer_(std::move(gradient_buffer)),
      fused_(fused) {}

void Matrix::quantize(Int8Use use) {
  const auto int8 = ops::quantize_rows((*this)(Mode::evaluation));
  if (use == Int8Use::decoding) {
    *this = Matrix(stored_.new_empty({0}), {}, {}, fused_);  // only its dtype is read
    int8_ = int8;
  }
  if (use == Int8Use::evaluation) {
    *this = Matrix(ops::dequantized(int8, stored_.scalar_type()), {}, {}, fused_);
  }
}

Weight Matrix::weight(Mode mode) const {
  if (int8_) {
    Weight quantized{at::Tensor()};
    quantized.int8 = int8_;
    return quantized;
  }
  if (parts_.empty()) return {stored_, gradient_buffer_};
  return (*this)(mode);
}

/// The rows of the stored matrix in blocks. A buffer is of a matrix: experts have their gradients
/// by autograd.
std::vector<at::Tensor> Matrix::row_blocks(const std::vector<std::int64_t>& sizes) const {
  if (stored_.dim() == 2) return ops::split_rows(stored_, sizes, gradient_buffer_);
  return stored_.flatten(0, -2).split_with_sizes(sizes);
}

at::Tensor Matrix::operator()(Mode mode) const {
  if (int8_) return ops::dequantized(*int8_, stored_.scalar_type());
  if (parts_.empty()) return stored_;
  std::vector<std::int64_t> sizes;
  sizes.reserve(parts_.size());
  for (const auto& part : parts_) sizes.push_back(part.rows);
  const auto all = row_blocks(sizes);
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& part = parts_[i];
    const auto& own = all[i];
    if (part.row_gain.defined()) {
      rows.push_back(weight_norm(own, part.row_gain, fused_));
    } else if (part.gamma.defined()) {
      if (mode == Mode::training) power_iteration(own, part.left, part.right);
      rows.push_back(sigma_reparam(own, part.gamma, part.left, part.right, fused_));
    } else {
      rows.push_back(own);
    }
  }
  return (rows.size() == 1 ? rows.front() : at::cat(rows)).view_as(stored_);
}

}  // namespace evenkeel::nn
