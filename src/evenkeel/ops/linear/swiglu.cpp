// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/linear/swiglu.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"
#include "evenkeel/ops/linear/swiglu_common.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using SwigluSignature = Tensor(const Tensor&);
using SwigluBackwardSignature = Tensor(const Tensor&, const Tensor&);

class SwigluFunction : public torch::autograd::Function<SwigluFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& up_gate) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<SwigluSignature>("evenkeel::swiglu_forward");
    ctx->save_for_backward({up_gate});
    return op.call(up_gate);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    const SavedTensors saved(ctx);
    static const auto op =
        registered_operator<SwigluBackwardSignature>("evenkeel::swiglu_backward");
    return {op.call(dy[0], saved[0])};
  }
};

Tensor swiglu_autograd(const Tensor& up_gate) {
  check_rows("swiglu", up_gate, "up_gate");
  TORCH_CHECK(up_gate.sym_size(-1) % 2 == 0,
              "[swiglu] up_gate must be up and gate side by side, [..., 2 * F], but is ",
              up_gate.sym_sizes());
  return SwigluFunction::apply(up_gate);
}

}  // namespace

Tensor swiglu(const Tensor& up_gate) {
  static const auto op = registered_operator<SwigluSignature>("evenkeel::swiglu");
  return op.call(up_gate);
}

void check_in_place(const Tensor& dy, const Tensor& up_gate) {
  check_rows("swiglu_backward_", up_gate, "up_gate");
  auto sizes = up_gate.sizes().vec();
  sizes.back() /= 2;
  TORCH_CHECK(dy.is_contiguous() && dy.sizes() == at::IntArrayRef(sizes) &&
                  2 * dy.numel() == up_gate.numel() && dy.device() == up_gate.device() &&
                  dy.scalar_type() == up_gate.scalar_type(),
              "[swiglu_backward_] dy must be contiguous, [..., F] for up_gate [..., 2 * F] of "
              "the same dtype and device, but they are ",
              dy.sizes(), " of ", dtype_name(dy.scalar_type()), " with strides ", dy.strides(),
              " and ", up_gate.sizes(), " of ", dtype_name(up_gate.scalar_type()));
}

Tensor swiglu_backward_(const Tensor& dy, const Tensor& up_gate) {
  static const auto op = registered_operator<SwigluBackwardSignature>("evenkeel::swiglu_backward_");
  return op.call(dy, up_gate);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("swiglu(Tensor up_gate) -> Tensor");
  m.def("swiglu_forward(Tensor up_gate) -> Tensor");
  m.def("swiglu_backward(Tensor dy, Tensor up_gate) -> Tensor");
  m.def("swiglu_backward_(Tensor(a!) dy, Tensor up_gate) -> Tensor");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("swiglu", swiglu_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("swiglu_forward", autograd_not_implemented());
  m.impl("swiglu_backward", autograd_not_implemented());
  m.impl("swiglu_backward_", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
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
