// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/affine.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

using AffineSignature = Tensor(const Tensor&, const OptionalTensor&, const OptionalTensor&);
using AffineBackwardSignature = Tensor3(const Tensor&, const Tensor&, const OptionalTensor&,
                                        const OptionalTensor&);

class AffineFunction : public torch::autograd::Function<AffineFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& gain,
                        const OptionalTensor& bias) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op = registered_operator<AffineSignature>("evenkeel::affine_forward");
    ctx->save_for_backward({x, gain.value_or(Tensor()), bias.value_or(Tensor())});
    return op.call(x, gain, bias);
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<AffineBackwardSignature>("evenkeel::affine_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto bias = defined_or_none(saved[2]);
    const auto [dx, dgain, dbias] = op.call(dy[0], saved[0], gain, bias);
    return {dx, gain ? dgain : Tensor(), bias ? dbias : Tensor()};
  }
};

Tensor affine_autograd(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias) {
  check_rows("affine", x);
  check_vector_of_groups("affine", "gain", gain, x);
  check_vector_of_groups("affine", "bias", bias, x);
  return AffineFunction::apply(x, gain, bias);
}

}  // namespace

Tensor affine(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias) {
  static const auto op = registered_operator<AffineSignature>("evenkeel::affine");
  return op.call(x, gain, bias);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("affine(Tensor x, Tensor? gain, Tensor? bias=None) -> Tensor");
  m.def("affine_forward(Tensor x, Tensor? gain, Tensor? bias) -> Tensor");
  m.def(
      "affine_backward(Tensor dy, Tensor x, Tensor? gain, Tensor? bias)"
      " -> (Tensor dx, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("affine", affine_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("affine_forward", autograd_not_implemented());
  m.impl("affine_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

Tensor affine_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                           const OptionalTensor& /*bias*/) {
  return empty_contiguous_like(x);
}

std::tuple<Tensor, Tensor, Tensor> affine_backward_meta(const Tensor& /*dy*/, const Tensor& x,
                                                        const OptionalTensor& gain,
                                                        const OptionalTensor& bias) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("affine_forward", affine_forward_meta);
  m.impl("affine_backward", affine_backward_meta);
}

}  // namespace evenkeel::ops
