// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/layer_norm.h"

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

using LayerNormSignature = Tensor(const Tensor&, const OptionalTensor&, const OptionalTensor&,
                                  double);
using LayerNormForwardSignature = Tensor3(const Tensor&, const OptionalTensor&,
                                          const OptionalTensor&, double);
using LayerNormBackwardSignature = Tensor3(const Tensor&, const Tensor&, const OptionalTensor&,
                                           const OptionalTensor&, const Tensor&, const Tensor&);

class LayerNormFunction : public torch::autograd::Function<LayerNormFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& gain,
                        const OptionalTensor& bias, double epsilon) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<LayerNormForwardSignature>("evenkeel::layer_norm_forward");
    const auto [y, mean, rstd] = op.call(x, gain, bias, epsilon);
    ctx->save_for_backward({x, gain.value_or(Tensor()), bias.value_or(Tensor()), mean, rstd});
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<LayerNormBackwardSignature>("evenkeel::layer_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto bias = defined_or_none(saved[2]);
    const auto [dx, dgain, dbias] = op.call(dy[0], saved[0], gain, bias, saved[3], saved[4]);
    return {dx, gain ? dgain : Tensor(), bias ? dbias : Tensor(), Tensor()};
  }
};

Tensor layer_norm_autograd(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                           double epsilon) {
  check_rows("layer_norm", x);
  check_vector("layer_norm", "gain", gain, x);
  check_vector("layer_norm", "bias", bias, x);
  check_epsilon("layer_norm", epsilon);
  return LayerNormFunction::apply(x, gain, bias, epsilon);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const OptionalTensor& gain, const OptionalTensor& bias,
                  double epsilon) {
  static const auto op = registered_operator<LayerNormSignature>("evenkeel::layer_norm");
  return op.call(x, gain, bias, epsilon);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("layer_norm(Tensor x, Tensor? gain, Tensor? bias, float epsilon=1e-05) -> Tensor");
  m.def(
      "layer_norm_forward(Tensor x, Tensor? gain, Tensor? bias, float epsilon)"
      " -> (Tensor y, Tensor mean, Tensor rstd)");
  m.def(
      "layer_norm_backward(Tensor dy, Tensor x, Tensor? gain, Tensor? bias, Tensor mean,"
      " Tensor rstd) -> (Tensor dx, Tensor dgain, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("layer_norm", layer_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("layer_norm_forward", autograd_not_implemented());
  m.impl("layer_norm_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;
using Tensor3 = std::tuple<Tensor, Tensor, Tensor>;

Tensor3 layer_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                                const OptionalTensor& /*bias*/, double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_row_statistic(x), empty_row_statistic(x)};
}

Tensor3 layer_norm_backward_meta(const Tensor& /*dy*/, const Tensor& x, const OptionalTensor& gain,
                                 const OptionalTensor& bias, const Tensor& /*mean*/,
                                 const Tensor& /*rstd*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x), empty_vector_gradient(bias, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("layer_norm_forward", layer_norm_forward_meta);
  m.impl("layer_norm_backward", layer_norm_backward_meta);
}

}  // namespace evenkeel::ops
