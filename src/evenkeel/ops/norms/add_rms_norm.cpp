// SPDX-License-Identifier: Apache-2.0
#include "evenkeel/ops/norms/add_rms_norm.h"

#include <torch/library.h>

#include <tuple>

#include "evenkeel/ops/common/operands.h"
#include "evenkeel/ops/common/registration.h"

namespace evenkeel::ops {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

using AddRmsNormSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&,
                                                       const OptionalTensor&, double);
using AddRmsNormForwardSignature = std::tuple<Tensor, Tensor, Tensor>(const Tensor&, const Tensor&,
                                                                      const OptionalTensor&,
                                                                      double);
using AddRmsNormBackwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const OptionalTensor&,
                                                               const Tensor&, const OptionalTensor&,
                                                               const Tensor&);

class AddRmsNormFunction : public torch::autograd::Function<AddRmsNormFunction> {
 public:
  static tensor_list forward(AutogradContext* ctx, const Tensor& residual, const Tensor& branch,
                             const OptionalTensor& gain, double epsilon) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    static const auto op =
        registered_operator<AddRmsNormForwardSignature>("evenkeel::add_rms_norm_forward");
    const auto [sum, y, rstd] = op.call(residual, branch, gain, epsilon);
    ctx->save_for_backward({sum, gain.value_or(Tensor()), rstd});
    ctx->set_materialize_grads(false);  // no pass over zeros for an unused result
    return {sum, y};
  }

  /// That of rms_norm at the sum, plus what reaches the sum itself; the same for both summands.
  static tensor_list backward(AutogradContext* ctx, const tensor_list& gradients) {
    const auto& [dsum, dy] = std::tie(gradients[0], gradients[1]);
    if (!dy.defined()) return {dsum, dsum, Tensor(), Tensor()};

    static const auto op =
        registered_operator<AddRmsNormBackwardSignature>("evenkeel::rms_norm_backward");
    const SavedTensors saved(ctx);
    const auto gain = defined_or_none(saved[1]);
    const auto [dx, dgain] = op.call(dy, defined_or_none(dsum), saved[0], gain, saved[2]);
    return {dx, dx, gain ? dgain : Tensor(), Tensor()};
  }
};

std::tuple<Tensor, Tensor> add_rms_norm_autograd(const Tensor& residual, const Tensor& branch,
                                                 const OptionalTensor& gain, double epsilon) {
  check_rows("add_rms_norm", residual);
  check_same("add_rms_norm", "branch", branch, "residual", residual);
  check_vector("add_rms_norm", "gain", gain, residual);
  check_epsilon("add_rms_norm", epsilon);
  const auto both = AddRmsNormFunction::apply(residual, branch, gain, epsilon);
  return {both[0], both[1]};
}

}  // namespace

std::tuple<Tensor, Tensor> add_rms_norm(const Tensor& residual, const Tensor& branch,
                                        const OptionalTensor& gain, double epsilon) {
  static const auto op = registered_operator<AddRmsNormSignature>("evenkeel::add_rms_norm");
  return op.call(residual, branch, gain, epsilon);
}

TORCH_LIBRARY_FRAGMENT(evenkeel, m) {
  m.def(
      "add_rms_norm(Tensor residual, Tensor branch, Tensor? gain, float epsilon=1e-05)"
      " -> (Tensor sum, Tensor y)");
  m.def(
      "add_rms_norm_forward(Tensor residual, Tensor branch, Tensor? gain, float epsilon)"
      " -> (Tensor sum, Tensor y, Tensor rstd)");
}

TORCH_LIBRARY_IMPL(evenkeel, CompositeImplicitAutograd, m) {
  m.impl("add_rms_norm", add_rms_norm_autograd);
}

TORCH_LIBRARY_IMPL(evenkeel, Autograd, m) {
  m.impl("add_rms_norm_forward", autograd_not_implemented());
}

// Meta functions give shapes without data, for torch.compile and FakeTensor. Sizes stay symbolic.
namespace {

using at::Tensor;

std::tuple<Tensor, Tensor, Tensor> add_rms_norm_forward_meta(const Tensor& residual,
                                                             const Tensor& /*branch*/,
                                                             const OptionalTensor& /*gain*/,
                                                             double /*epsilon*/) {
  return {empty_contiguous_like(residual), empty_contiguous_like(residual),
          empty_row_statistic(residual)};
}

}  // namespace

TORCH_LIBRARY_IMPL(evenkeel, Meta, m) {
  m.impl("add_rms_norm_forward", add_rms_norm_forward_meta);
}

}  // namespace evenkeel::ops
