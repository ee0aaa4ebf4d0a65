// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cpu/swiglu.h"
#include "evenkeel/ops/cpu_adapter.h"
#include "evenkeel/ops/operands.h"
#include "evenkeel/ops/swiglu_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::mutable_data;
using cpu::KernelType;

Tensor forward(const Tensor& products) {
  const auto rows = products.contiguous();
  const auto inner = width_of(products) / 2;
  auto sizes = products.sizes().vec();
  sizes.back() = inner;
  auto y = at::empty(sizes, products.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, products.scalar_type(), "swiglu_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows, row_count(products) * 2 * inner);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(products), [&](std::int64_t row) {
      const auto* const up = from + row * 2 * inner;
      kernels::cpu::swiglu_row(up, up + inner, to + row * inner, inner);
    });
  });
  return y;
}

/// \param y  contiguous, written; perhaps dy. Undefined: nobody asks
Tensor backward_and(const Tensor& dy, const Tensor& products, const Tensor& y) {
  const auto upstream = dy.contiguous();
  const auto rows = products.contiguous();
  const auto inner = width_of(products) / 2;
  auto gradient = empty_contiguous_like(products);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, products.scalar_type(), "swiglu_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, row_count(products) * inner);
    const auto* const from = const_data<scalar_t>(rows, row_count(products) * 2 * inner);
    auto* const to = mutable_data<scalar_t>(gradient);
    auto* const again = y.defined() ? mutable_data<scalar_t>(y) : nullptr;
    cpu::for_each_row(row_count(products), [&](std::int64_t row) {
      const auto at = row * 2 * inner;
      kernels::cpu::swiglu_row_backward<KernelType<scalar_t>>({.dy = dy_rows + row * inner,
                                                        .up = from + at,
                                                        .gate = from + at + inner,
                                                        .dup = to + at,
                                                        .dgate = to + at + inner,
                                                        .y = again ? again + row * inner : nullptr},
                                                       inner);
    });
  });
  return gradient;
}

Tensor backward(const Tensor& dy, const Tensor& products) {
  return backward_and(dy, products, {});
}

Tensor backward_in_place(const Tensor& dy, const Tensor& products) {
  check_in_place(dy, products);
  bump_version(dy);
  return backward_and(dy, products, dy);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("swiglu_forward", forward);
  m.impl("swiglu_backward", backward);
  m.impl("swiglu_backward_", backward_in_place);
}

}  // namespace evenkeel::ops
