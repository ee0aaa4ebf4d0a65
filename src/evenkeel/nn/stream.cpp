// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/nn/stream.h"

#include <ATen/ATen.h>

#include <utility>

namespace evenkeel::nn {

Stream::Stream(at::Tensor value) : value_(std::move(value)) {}

Stream::Stream(at::Tensor skip, at::Tensor branch)
    : skip_(std::move(skip)), branch_(std::move(branch)) {}

std::vector<at::Tensor> Stream::pieces() const {
  if (value_.defined()) return {value_};
  return {skip_, branch_};
}

Stream Stream::of(const std::vector<at::Tensor>& pieces) {
  return pieces.size() == 1 ? Stream(pieces[0]) : Stream(pieces[0], pieces[1]);
}

const at::Tensor& Stream::value() {
  if (!value_.defined()) {
    value_ = skip_ + branch_;
    skip_ = branch_ = at::Tensor();
  }
  return value_;
}

at::Tensor Stream::normed(const NormLayer& norm, Mode mode) {
  if (!value_.defined()) {
    if (auto both = norm.after_add(skip_, branch_)) {
      value_ = std::get<0>(*both);
      skip_ = branch_ = at::Tensor();
      return std::get<1>(*both);
    }
  }
  return norm(value(), mode);
}

}  // namespace evenkeel::nn
