// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/bounded.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using BoundedSignature = Tensor(const Tensor&, const Tensor&, const OptionalTensor&,
                                const OptionalTensor&, const OptionalTensor&, bool);
using BoundedBackwardSignature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&, const OptionalTensor&,
    const OptionalTensor&, bool);

class BoundedFunction : public torch::autograd::Function<BoundedFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& alpha,
                        const OptionalTensor& shift, const OptionalTensor& gain,
                        const OptionalTensor& bias, bool erf) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<BoundedSignature>("evenkeel::bounded_forward");
    const auto tensor_or_undefined = [](const OptionalTensor& of) { return of.value_or(Tensor()); };
    ctx->save_for_backward({x, alpha, tensor_or_undefined(shift), tensor_or_undefined(gain),
                            tensor_or_undefined(bias)});
    ctx->saved_data["erf"] = erf;
    return op.call(x, alpha, shift, gain, bias, erf);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<BoundedBackwardSignature>("evenkeel::bounded_backward");
    const SavedTensors saved(ctx);
    const auto shift = defined_or_none(saved[2]), gain = defined_or_none(saved[3]),
               bias = defined_or_none(saved[4]);
    const auto [dx, dalpha, dshift, dgain, dbias] =
        op.call(dy[0], saved[0], saved[1], shift, gain, bias, ctx->saved_data["erf"].toBool());
    const Tensor none;
    return {dx, dalpha, shift ? dshift : none, gain ? dgain : none, bias ? dbias : none, none};
  }
};

Tensor bounded_autograd(const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
                        const OptionalTensor& gain, const OptionalTensor& bias, bool erf) {
  check_rows("bounded", x);
  check_double("bounded", "alpha", alpha, x, /*is_value=*/true);
  if (shift) check_double("bounded", "shift", *shift, x, /*is_value=*/true);
  check_vector_or_value("bounded", "gain", gain, x);
  check_vector_or_value("bounded", "bias", bias, x);
  return BoundedFunction::apply(x, alpha, shift, gain, bias, erf);
}

}  // namespace

Tensor bounded(const Tensor& x, const Tensor& alpha, const OptionalTensor& shift,
               const OptionalTensor& gain, const OptionalTensor& bias, bool is_erf) {
  static const auto op = registered_operator<BoundedSignature>("evenkeel::bounded");
  return op.call(x, alpha, shift, gain, bias, is_erf);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "bounded(Tensor x, Tensor alpha, Tensor? shift=None, Tensor? gain=None, Tensor? bias=None,"
      " bool erf=False) -> Tensor");
  m.def(
      "bounded_forward(Tensor x, Tensor alpha, Tensor? shift, Tensor? gain, Tensor? bias, bool erf)"
      " -> Tensor");
  m.def(
      "bounded_backward(Tensor dy, Tensor x, Tensor alpha, Tensor? shift, Tensor? gain,"
      " Tensor? bias, bool erf)"
      " -> (Tensor dx, Tensor dalpha, Tensor dshift, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("bounded", bounded_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("bounded_forward", autograd_not_implemented());
  m.impl("bounded_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor bounded_forward_meta(const Tensor& x, const Tensor& /*alpha*/,
                            const OptionalTensor& /*shift*/, const OptionalTensor& /*gain*/,
                            const OptionalTensor& /*bias*/, bool /*erf*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> bounded_backward_meta(
    const Tensor& /*dy*/, const Tensor& x, const Tensor& alpha, const OptionalTensor& /*shift*/,
    const OptionalTensor& gain, const OptionalTensor& bias, bool /*erf*/) {
  return {empty_contiguous_like(x), empty_contiguous_like(alpha), empty_contiguous_like(alpha),
          empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("bounded_forward", bounded_forward_meta);
  m.impl("bounded_backward", bounded_backward_meta);
}

}  // namespace evenkeel::ops
