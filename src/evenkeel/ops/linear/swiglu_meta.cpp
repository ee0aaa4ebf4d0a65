// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;

Tensor swiglu_forward_meta(const Tensor& up_gate) {
  auto sizes = up_gate.sym_sizes().vec();
  sizes.back() = sizes.back() / 2;
  return at::empty_symint(sizes, up_gate.options());
}

Tensor swiglu_backward_meta(const Tensor& /*dy*/, const Tensor& up_gate) {
  return empty_contiguous_like(up_gate);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("swiglu_forward", swiglu_forward_meta);
  m.impl("swiglu_backward", swiglu_backward_meta);
  m.impl("swiglu_backward_", swiglu_backward_meta);
}

}  // namespace evenkeel::ops
