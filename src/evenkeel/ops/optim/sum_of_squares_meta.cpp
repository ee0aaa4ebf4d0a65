// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/ops/common/operands.h"

namespace evenkeel::ops {

namespace {

at::Tensor sum_of_squares_meta(const at::Tensor& x) {
  check_dtype("sum_of_squares", "x", x);
  return at::empty({}, x.options().dtype(at::kDouble));
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("sum_of_squares", sum_of_squares_meta);
}

}  // namespace evenkeel::ops
