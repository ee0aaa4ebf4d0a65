// SPDX-License-Identifier: Apache-2.0
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/kernels/cpu/portable/swiglu.h"
#include "evenkeel/ops/common/cpu_adapter.h"
#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/linear/swiglu_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using cpu::const_data;
using cpu::KernelType;
using cpu::mutable_data;

Tensor swiglu_forward_cpu(const Tensor& up_gate) {
  const auto rows = up_gate.contiguous();
  const auto ffn_width = width_of(up_gate) / 2;
  auto sizes = up_gate.sizes().vec();
  sizes.back() = ffn_width;
  auto y = at::empty(sizes, up_gate.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, up_gate.scalar_type(), "swiglu_forward", [&] {
    const auto* const from = const_data<scalar_t>(rows, row_count(up_gate) * 2 * ffn_width);
    auto* const to = mutable_data<scalar_t>(y);
    cpu::for_each_row(row_count(up_gate), [&](std::int64_t row) {
      const auto* const up = from + row * 2 * ffn_width;
      kernels::cpu::swiglu_row(up, up + ffn_width, to + row * ffn_width, ffn_width);
    });
  });
  return y;
}

/// \param y  contiguous, written; may be dy. Undefined: not wanted
Tensor swiglu_backward_with_output(const Tensor& dy, const Tensor& up_gate, const Tensor& y) {
  const auto upstream = dy.contiguous();
  const auto rows = up_gate.contiguous();
  const auto ffn_width = width_of(up_gate) / 2;
  auto gradient = empty_contiguous_like(up_gate);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, up_gate.scalar_type(), "swiglu_backward", [&] {
    const auto* const dy_rows = const_data<scalar_t>(upstream, row_count(up_gate) * ffn_width);
    const auto* const from = const_data<scalar_t>(rows, row_count(up_gate) * 2 * ffn_width);
    auto* const to = mutable_data<scalar_t>(gradient);
    auto* const y_data = y.defined() ? mutable_data<scalar_t>(y) : nullptr;
    cpu::for_each_row(row_count(up_gate), [&](std::int64_t row) {
      const auto offset = row * 2 * ffn_width;
      kernels::cpu::swiglu_row_backward<KernelType<scalar_t>>(
          {.dy = dy_rows + row * ffn_width,
           .up = from + offset,
           .gate = from + offset + ffn_width,
           .dup = to + offset,
           .dgate = to + offset + ffn_width,
           .y = y_data ? y_data + row * ffn_width : nullptr},
          ffn_width);
    });
  });
  return gradient;
}

Tensor swiglu_backward_cpu(const Tensor& dy, const Tensor& up_gate) {
  return swiglu_backward_with_output(dy, up_gate, {});
}

Tensor swiglu_backward_in_place_cpu(const Tensor& dy, const Tensor& up_gate) {
  check_in_place(dy, up_gate);
  bump_version(dy);
  return swiglu_backward_with_output(dy, up_gate, dy);
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, CPU, m) {
  m.impl("swiglu_forward", swiglu_forward_cpu);
  m.impl("swiglu_backward", swiglu_backward_cpu);
  m.impl("swiglu_backward_", swiglu_backward_in_place_cpu);
}

}  // namespace evenkeel::ops
