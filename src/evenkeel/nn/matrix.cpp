// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/matrix.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "evenkeel/ops/affine.h"
#include "evenkeel/ops/reference.h"

namespace evenkeel::nn {

namespace {

/// W v as sums of rows: in one order, whatever the number of threads.
at::Tensor times(const at::Tensor& w, const at::Tensor& v) {
  return (w * v).sum(-1);
}

at::Tensor unit(const at::Tensor& v) {
  return ops::reference::unit_rows(v, 1e-12).to(v.scalar_type());
}

at::Tensor weight_norm(const at::Tensor& v, const at::Tensor& row_gain) {
  const auto length = ops::reference::root(v.square().sum(-1, /*keepdim=*/true));
  return row_gain.unsqueeze(-1) * v / at::where(length > 0, length, 1.0);  // zeros stay zeros
}

at::Tensor sigma_reparam(const at::Tensor& v, const Matrix::Part& part, Mode mode) {
  if (mode == Mode::training) power_iteration(v, part.left, part.right);
  // Clones, since a later pass moves the state while this pass's graph still needs it.
  const auto sigma = (part.left.clone() * times(v, part.right.clone())).sum();
  return ops::affine(v, part.gamma / at::where(sigma == 0, 1.0, sigma));  // zeros stay zeros
}

}  // namespace

void power_iteration(const at::Tensor& v, const at::Tensor& left, const at::Tensor& right) {
  const at::NoGradGuard no_grad;
  left.copy_(unit(times(v, right)));
  right.copy_(unit(times(v.t().contiguous(), left)));
}

Matrix::Matrix(at::Tensor stored, std::vector<Part> parts, ops::GradientSum sum)
    : stored_(std::move(stored)), parts_(std::move(parts)), sum_(std::move(sum)) {}

Weight Matrix::weight(Mode mode) const {
  if (parts_.empty()) return {stored_, sum_};
  return (*this)(mode);
}

at::Tensor Matrix::operator()(Mode mode) const {
  if (parts_.empty()) return stored_;
  const auto all = stored_.flatten(0, -2);
  std::vector<at::Tensor> rows;
  for (const auto& part : parts_) {
    const auto own = all.narrow(0, part.first, part.rows);
    if (part.row_gain.defined()) {
      rows.push_back(weight_norm(own.to(part.row_gain.scalar_type()), part.row_gain));
    } else if (part.gamma.defined()) {
      rows.push_back(sigma_reparam(own.to(part.gamma.scalar_type()), part, mode));
    } else {
      rows.push_back(own);
    }
    rows.back() = rows.back().to(stored_.scalar_type());
  }
  return (rows.size() == 1 ? rows.front() : at::cat(rows)).view_as(stored_);
}

}  // namespace evenkeel::nn
