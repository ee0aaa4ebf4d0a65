// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/swiglu_linear.h"

#include <ATen/core/grad_mode.h>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/common/saved_value.h"
#include "evenkeel/ops/linear/deterministic_matmul.h"
#include "evenkeel/ops/linear/linear.h"
#include "evenkeel/ops/linear/swiglu.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using SwigluLinearSignature = Tensor(const Tensor&, const Tensor&);

class SwigluLinearFunction : public torch::autograd::Function<SwigluLinearFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& up_gate, const Tensor& w,
                        const GradientBuffer* gradient_buffer) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({up_gate, w});
    if (*gradient_buffer) ctx->saved_data["gradient_buffer"] = saved_value(*gradient_buffer);
    return deterministic_linear(swiglu(up_gate), w);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& upstream) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "[swiglu_linear] is differentiable once");
    const SavedTensors saved(ctx);
    const auto& up_gate = saved[0];
    const auto& w = saved[1];
    const auto rows = upstream.front().reshape_symint({-1, w.sym_size(0)});
    Tensor hidden, dup_gate, dw;
    if (ctx->needs_input_grad(0)) {
      hidden = deterministic_matmul(rows, w);  // its gradient, until the next line
      dup_gate = swiglu_backward_(hidden, up_gate.reshape_symint({-1, up_gate.sym_size(-1)}));
      dup_gate = dup_gate.view_as(up_gate);
    } else {
      hidden = swiglu(up_gate).reshape_symint({-1, w.sym_size(1)});
    }
    if (ctx->needs_input_grad(1)) {
      const auto found = ctx->saved_data.find("gradient_buffer");
      dw = weight_gradient(found == ctx->saved_data.end()
                               ? GradientBuffer()
                               : saved_value_as<GradientBuffer>(found->second),
                           rows, hidden);
    }
    return {dup_gate, dw, Tensor()};
  }
};

// swiglu() refuses an odd size, which this division rounds down.
void check_swiglu_linear(const Tensor& up_gate, const Tensor& w) {
  TORCH_CHECK(up_gate.dim() >= 1 && w.dim() == 2 && up_gate.sym_size(-1) / 2 == w.sym_size(1) &&
                  up_gate.scalar_type() == w.scalar_type(),
              "[swiglu_linear] up_gate must be [..., 2 F] and w [rows, F] of one dtype, but they "
              "are ",
              up_gate.sym_sizes(), " of ", dtype_name(up_gate.scalar_type()), " and ",
              w.sym_sizes(), " of ", dtype_name(w.scalar_type()));
}

Tensor swiglu_linear_autograd(const Tensor& up_gate, const Tensor& w) {
  check_swiglu_linear(up_gate, w);
  const GradientBuffer none;
  return SwigluLinearFunction::apply(up_gate, w, &none);
}

}  // namespace

// A GradientBuffer is a C++ object: calls with one do not go through the dispatcher.
Tensor swiglu_linear(const Tensor& up_gate, const Tensor& w,
                     const GradientBuffer& gradient_buffer) {
  if (gradient_buffer) {
    check_swiglu_linear(up_gate, w);
    return SwigluLinearFunction::apply(up_gate, w, &gradient_buffer);
  }
  static const auto op = registered_operator<SwigluLinearSignature>("evenkeel::swiglu_linear");
  return op.call(up_gate, w);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("swiglu_linear(Tensor up_gate, Tensor w) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("swiglu_linear", swiglu_linear_autograd);
}

}  // namespace evenkeel::ops
