// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/ops/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor forward(const Tensor& up_gate) {
  auto sizes = up_gate.sym_sizes().vec();
  sizes.back() = sizes.back() / 2;
  return at::empty_symint(sizes, up_gate.options());
}

Tensor backward(const Tensor& /*dy*/, const Tensor& up_gate) {
  return empty_contiguous_like(up_gate);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("swiglu_forward", forward);
  m.impl("swiglu_backward", backward);
  m.impl("swiglu_backward_", backward);
}

}  // namespace evenkeel::ops
