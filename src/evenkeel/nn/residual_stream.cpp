// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/residual_stream.h"

#include <ATen/ATen.h>

#include <utility>

namespace evenkeel::nn {

ResidualStream::ResidualStream(at::Tensor value) : value_(std::move(value)) {}

ResidualStream::ResidualStream(at::Tensor skip, at::Tensor branch)
    : skip_(std::move(skip)), branch_(std::move(branch)) {}

std::vector<at::Tensor> ResidualStream::tensors() const {
  if (value_.defined()) return {value_};
  return {skip_, branch_};
}

ResidualStream ResidualStream::from_tensors(const std::vector<at::Tensor>& tensors) {
  return tensors.size() == 1 ? ResidualStream(tensors[0]) : ResidualStream(tensors[0], tensors[1]);
}

const at::Tensor& ResidualStream::value() {
  if (!value_.defined()) {
    value_ = skip_ + branch_;
    skip_ = branch_ = at::Tensor();
  }
  return value_;
}

at::Tensor ResidualStream::normed(const NormLayer& norm, Mode mode) {
  if (!value_.defined()) {
    if (auto both = norm.add_and_norm(skip_, branch_)) {
      value_ = std::get<0>(*both);
      skip_ = branch_ = at::Tensor();
      return std::get<1>(*both);
    }
  }
  return norm(value(), mode);
}

}  // namespace evenkeel::nn
