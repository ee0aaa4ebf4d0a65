// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/rms_norm.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using RmsNormSignature = Tensor(const Tensor&, const OptionalTensor&, double);
using RmsNormForwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const OptionalTensor&,
                                                           double);
using RmsNormBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const OptionalTensor&,
                                                            const Tensor&, const OptionalTensor&,
                                                            const Tensor&);

class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const OptionalTensor& gain,
                        double epsilon) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<RmsNormForwardSignature>("evenkeel::rms_norm_forward");
    const auto [y, rstd] = op.call(x, gain, epsilon);
    ctx->save_for_backward({x, gain.value_or(Tensor()), rstd});
    return y;
  }

  static tensor_list backward(AutogradContext* ctx, const tensor_list& dy) {
    static const auto op =
        registered_operator<RmsNormBackwardSignature>("evenkeel::rms_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto [dx, dgain] = op.call(dy[0], std::nullopt, saved[0], gain, saved[2]);
    return {dx, gain ? dgain : Tensor(), Tensor()};
  }
};

/// One body for every key: apply() costs little when no gradient is wanted, and torch.compile
/// traces through it to the forward and backward operators, which alone have kernels.
Tensor rms_norm_autograd(const Tensor& x, const OptionalTensor& gain, double epsilon) {
  check_rows("rms_norm", x);
  check_vector("rms_norm", "gain", gain, x);
  check_epsilon("rms_norm", epsilon);
  return RmsNormFunction::apply(x, gain, epsilon);
}

}  // namespace

Tensor rms_norm(const Tensor& x, const OptionalTensor& gain, double epsilon) {
  static const auto op = registered_operator<RmsNormSignature>("evenkeel::rms_norm");
  return op.call(x, gain, epsilon);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def("rms_norm(Tensor x, Tensor? gain, float epsilon=1e-05) -> Tensor");
  m.def("rms_norm_forward(Tensor x, Tensor? gain, float epsilon) -> (Tensor y, Tensor rstd)");
  m.def(
      "rms_norm_backward(Tensor dy, Tensor? skip, Tensor x, Tensor? gain, Tensor rstd)"
      " -> (Tensor dx, Tensor dgain)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("rms_norm", rms_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("rms_norm_forward", autograd_not_implemented());
  m.impl("rms_norm_backward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor> rms_norm_forward_meta(const Tensor& x, const OptionalTensor& /*gain*/,
                                                 double /*epsilon*/) {
  return {empty_contiguous_like(x), empty_row_statistic(x)};
}

std::tuple<Tensor, Tensor> rms_norm_backward_meta(const Tensor& /*dy*/,
                                                  const OptionalTensor& /*skip*/, const Tensor& x,
                                                  const OptionalTensor& gain,
                                                  const Tensor& /*rstd*/) {
  return {empty_contiguous_like(x), empty_vector_gradient(gain, x)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("rms_norm_forward", rms_norm_forward_meta);
  m.impl("rms_norm_backward", rms_norm_backward_meta);
}

}  // namespace evenkeel::ops
